// A driver of loadstone: carries a plan out with go-redis (docs/drivers.md).
//
// Standard input: the plan, then perhaps an order to stop. Standard output: JSON lines. Everything else is a log.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
)

// A first line of this length holds any plan.
const lineBytesMax = 16 << 20

// failure is an end without a record.
type failure struct {
	Type    string `json:"type"`
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

func (f *failure) Error() string { return f.Message }

// wrongPlan is a plan that cannot be carried out; the message names the field.
func wrongPlan(format string, arguments ...any) error {
	return &failure{Type: "failed", Kind: "plan", Message: fmt.Sprintf(format, arguments...)}
}

// noConnection is a server that could not be connected to, or did not greet within the time for that.
func noConnection(address string, err error) error {
	said := oneLine(err)
	var timed net.Error
	if errors.As(err, &timed) && timed.Timeout() {
		said = "no answer to the connection in time (" + said + ")"
	}
	return &failure{Type: "failed", Kind: "connect", Message: address + ": " + said}
}

func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}

func main() {
	out := newMessages(os.Stdout)
	if err := drive(bufio.NewReaderSize(os.Stdin, 64<<10), out); err != nil {
		var known *failure
		if !errors.As(err, &known) {
			known = &failure{Type: "failed", Kind: "internal", Message: oneLine(err)}
		}
		out.write(known)
		os.Exit(1)
	}
}

// drive reads the plan, carries it out, and reports.
func drive(in *bufio.Reader, out *messages) error {
	plan, err := readPlan(in)
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(min(plan.Threads, runtime.NumCPU()))
	work, err := newWorkload(plan)
	if err != nil {
		return err
	}
	server, err := connect(plan)
	if err != nil {
		return err
	}
	load := newLoad(plan, work, server, out)
	go stopOnOrder(in, load)
	return load.run()
}

// readPlan reads the first line.
func readPlan(in *bufio.Reader) (*Plan, error) {
	line, err := readLine(in)
	if err != nil {
		return nil, wrongPlan("the first line of the input is no plan: %v", err)
	}
	var message planMessage
	if err := json.Unmarshal(line, &message); err != nil {
		return nil, wrongPlan("the first line of the input is no plan: %v", err)
	}
	if message.Type != "plan" || message.Format != 1 {
		return nil, wrongPlan("the first message is %q of format %d; a plan of format 1 is expected", message.Type, message.Format)
	}
	return &message.Plan, message.Plan.check()
}

func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, more, err := in.ReadLine()
		if err != nil {
			return nil, err
		}
		line = append(line, part...)
		if len(line) > lineBytesMax {
			return nil, errors.New("it is longer than 16 MB")
		}
		if !more {
			return line, nil
		}
	}
}

// stopOnOrder ends the load when that is ordered, or when the input ends: nobody waits for it then.
func stopOnOrder(in *bufio.Reader, load *load) {
	for {
		line, err := readLine(in)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				fmt.Fprintln(os.Stderr, "the input cannot be read:", err)
			}
			load.stop(stoppedOnRequest)
			return
		}
		var order struct{ Type string }
		if json.Unmarshal(line, &order) == nil && order.Type == "stop" {
			load.stop(stoppedOnRequest)
		}
	}
}
