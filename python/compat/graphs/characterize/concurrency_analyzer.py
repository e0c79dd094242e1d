"""What of a partition can run at the same time."""

__all__ = ["ConcurrencyAnalyzer"]


class ConcurrencyAnalyzer:
    def analyze(self, report):
        return report.concurrency
