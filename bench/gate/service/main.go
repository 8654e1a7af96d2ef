// A service for trials of the gate: its commits make it slower in CPU, in one request of a hundred, or by waiting.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

type item struct {
	ID   string `json:"id"`
	Sum  string `json:"sum"`
	Tags []int  `json:"tags"`
}

func digest(rounds int) [32]byte {
	sum := [32]byte{1}
	for i := 0; i < rounds; i++ {
		sum = sha256.Sum256(sum[:])
	}
	return sum
}

func main() {
	port := flag.Int("port", 8080, "where it listens")
	rounds := flag.Int("rounds", 400, "how much work a request is")
	tail := flag.Duration("tail", 0, "how much later one request of a hundred is answered")
	lock := flag.Duration("lock", 0, "for how long each request holds the one lock, without work: as a row of a database")
	bench := flag.Bool("bench", false, "print the nanoseconds of a round, and end")
	flag.Parse()
	if *bench {
		begin := time.Now()
		digest(3_000_000)
		fmt.Println(float64(time.Since(begin).Nanoseconds()) / 3e6)
		return
	}
	var count atomic.Int64
	var row sync.Mutex
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		sum := digest(*rounds)
		if *tail > 0 && count.Add(1)%100 == 0 {
			time.Sleep(*tail)
		}
		if *lock > 0 {
			row.Lock()
			time.Sleep(*lock)
			row.Unlock()
		}
		w.Header().Set("Content-Type", "application/json")
		one := item{ID: r.URL.Path, Sum: fmt.Sprintf("%x", sum), Tags: []int{1, 2, 3}}
		if err := json.NewEncoder(w).Encode(one); err != nil {
			log.Println(err)
		}
	})
	log.Fatal(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), nil))
}
