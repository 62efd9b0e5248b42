// Two processes send each other messages of several sizes, look at every byte, and say how long it took.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kLargest = 1 << 20, kTimes = 50 };

// What stands at a place of a message: another byte for each place, size and turn.
static unsigned char expected(int place, int size, int turn) {
    return (unsigned char)(place * 31 + place / 251 + size * 7 + turn);
}

static void fill(unsigned char *message, int size, int turn) {
    for (int i = 0; i < size; ++i)
        message[i] = expected(i, size, turn);
}

static void look_at(const unsigned char *message, int size, int turn) {
    for (int i = 0; i < size; ++i) {
        if (message[i] != expected(i, size, turn)) {
            fprintf(stderr, "%d bytes, turn %d: byte %d is %d, not %d\n", size, turn, i, message[i], expected(i, size, turn));
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

// There and back, kTimes; returns the seconds that it took, without looking at the bytes.
static double exchange(int rank, int size, unsigned char *out, unsigned char *in) {
    double took = 0;
    for (int turn = 0; turn < kTimes; ++turn) {
        fill(out, size, turn + rank);
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        if (rank == 0)
            MPI_Send(out, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(in, size, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(out, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        took += MPI_Wtime() - start;
        look_at(in, size, turn + 1 - rank);
    }
    return took;
}

int main(int argc, char **argv) {
    int rank = 0, ranks = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        fprintf(stderr, "%s: wants two processes: mpirun -np 2\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 64);
    }
    unsigned char *out = malloc(kLargest), *in = malloc(kLargest);
    if (!out || !in)
        MPI_Abort(MPI_COMM_WORLD, 70);
    for (int size = 1; size <= kLargest; size *= 32) {
        const double took = exchange(rank, size, out, in);
        if (rank == 0)
            printf("%8d bytes: %10.1f us there and back, %9.1f MB/s, %d messages verified\n", size, took / kTimes * 1e6,
                   2.0 * size * kTimes / took / 1e6, 2 * kTimes);
    }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
