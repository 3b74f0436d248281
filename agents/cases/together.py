from runtime.testing.cases import Case, Draw


def together_case(draw: Draw) -> Case:
    raise NotImplementedError
