"""A bell between processes that share cores: whoever waits sleeps until the other rings."""

import socket
import sys
import time


class Bells:
    """One datagram socket per rank. Rings from each rank are counted, so that none is lost or taken for a later one.

    Args:
        rank: whose bell.
        n_ranks: how many there are.
        token: a word of this job alone.
        gather: gives everybody's value to everybody, as a list by rank (for ports, where sockets have no names).
    """

    def __init__(self, rank: int, n_ranks: int, token: str, gather) -> None:
        self.rank, self.n_ranks = rank, n_ranks
        self.rung = [0] * n_ranks
        self.mine = bytes([rank])
        if sys.platform == "linux":  # names without files
            names = [f"\0interconnect-{token}-{r}" for r in range(n_ranks)]
            self.bell = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.bell.bind(names[rank])
            self.where = names
            gather(0)
        else:
            self.bell = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.bell.bind(("127.0.0.1", 0))
            self.where = [("127.0.0.1", port) for port in gather(self.bell.getsockname()[1])]

    def ring(self, peers) -> None:
        """Wake other ranks. Where somebody's queue is full, listen meanwhile, so that no two wait for each other's."""
        send, mine, where = self.bell.sendto, self.mine, self.where
        for peer in peers:
            while True:
                try:
                    send(mine, socket.MSG_DONTWAIT, where[peer])
                    break
                except (BlockingIOError, InterruptedError):
                    self._listen()

    def _listen(self) -> None:
        try:
            while True:
                self.rung[self.bell.recv(1, socket.MSG_DONTWAIT)[0]] += 1
        except (BlockingIOError, InterruptedError):
            time.sleep(0)

    def wait(self, peers, seconds: float | None = None) -> bool:
        """Sleep until each of `peers` has rung once more than was waited for; False where that takes longer than `seconds`."""
        rung, receive = self.rung, self.bell.recv
        if seconds is not None:
            self.bell.settimeout(seconds)
        try:
            for peer in peers:
                while not rung[peer]:
                    rung[receive(1)[0]] += 1
                rung[peer] -= 1
        except TimeoutError:
            return False
        finally:
            if seconds is not None:
                self.bell.settimeout(None)
        return True

    def all(self) -> None:
        """Sleep until all ranks are here."""
        others = range(1, self.n_ranks)
        if self.rank:
            self.ring((0,))
            self.wait((0,))
        else:
            self.wait(others)
            self.ring(others)
