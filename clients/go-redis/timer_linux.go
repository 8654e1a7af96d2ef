package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// fileTimer is a timer of the kernel, which the runtime waits for as for a connection.
type fileTimer struct {
	file *os.File
	fd   int
}

func newTimer() (timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &fileTimer{file: os.NewFile(uintptr(fd), "timer"), fd: fd}, nil
}

func (t *fileTimer) set(afterNs int64) {
	value := unix.NsecToTimespec(afterNs)
	// Only nonsense is refused.
	_ = unix.TimerfdSettime(t.fd, 0, &unix.ItimerSpec{Value: value}, nil)
}

func (t *fileTimer) wait() {
	var expirations [8]byte
	_, _ = t.file.Read(expirations[:])
}
