"""Look at data before completing them, and compare methods on them."""

import qrank


def main() -> None:
    x = qrank.data.low_q_rank((20, 20, 12), r=2, rng=0)
    found = qrank.inspect(x)
    print(*found.lines(), sep="\n")
    table = qrank.compare(x, ["vmtqn", "tnn"], rates=[0.5, 0.8], draws=1)
    print(table.to_markdown())


if __name__ == "__main__":
    main()
