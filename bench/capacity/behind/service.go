// A service of known demands: each GET burns CPU here by counted work, and has a Redis run a counted loop.
package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
)

const pool = 16

var requests atomic.Int64
var sink atomic.Uint64

func burn(steps int) {
	x := uint64(steps)
	for i := 0; i < steps; i++ {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sink.Store(x)
}

type line struct {
	to   net.Conn
	from *bufio.Reader
}

func (one *line) ask(loops int) error {
	script := fmt.Sprintf("local s=0 for i=1,%d do s=s+i end return s", loops)
	if _, err := fmt.Fprintf(one.to, "*3\r\n$4\r\nEVAL\r\n$%d\r\n%s\r\n$1\r\n0\r\n", len(script), script); err != nil {
		return err
	}
	_, err := one.from.ReadString('\n')
	return err
}

func main() {
	steps, _ := strconv.Atoi(os.Args[3])
	loops, _ := strconv.Atoi(os.Args[4])
	lines := make(chan *line, pool)
	for i := 0; i < pool; i++ {
		to, err := net.Dial("tcp", "127.0.0.1:"+os.Args[2])
		if err != nil {
			panic(err)
		}
		lines <- &line{to, bufio.NewReader(to)}
	}
	http.HandleFunc("/count", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, requests.Load()) })
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		burn(steps)
		one := <-lines
		err := one.ask(loops)
		lines <- one
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		requests.Add(1)
		fmt.Fprint(w, "ok")
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
