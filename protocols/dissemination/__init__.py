"""Customized content dissemination: every subscriber gets the content in its own formats (dissemination)."""
