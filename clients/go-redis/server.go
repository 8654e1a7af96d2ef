package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// server is the client of the server that gets the load, and what became of its connections.
type server struct {
	client *redis.Client
	opened atomic.Int64
	failed atomic.Int64
	lost   atomic.Int64
}

// forever is longer than any load: who waits for a connection waits until the load ends.
const forever = 10 * 365 * 24 * time.Hour

// connect opens the pool: as many connections as are to be idle at first.
func connect(plan *Plan) (*server, error) {
	options, err := optionsOf(plan)
	if err != nil {
		return nil, err
	}
	s := &server{}
	dial := redis.NewDialer(options)
	options.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := dial(ctx, network, address)
		if err != nil {
			s.failed.Add(1)
		} else {
			s.opened.Add(1)
		}
		return connection, err
	}
	s.client = redis.NewClient(options)
	if err := s.open(plan, options.MinIdleConns); err != nil {
		s.client.Close()
		return nil, noConnection(options.Addr, err)
	}
	return s, nil
}

// minIdle is what go-redis keeps open on its own. It opens these connections behind our back, and while it does others
// may be opened beyond the size of the pool: so where all of them are to be open at first, we open them.
func minIdle(pool Pool) int {
	if pool.MinIdle == nil || *pool.MinIdle >= pool.Connections {
		return 0
	}
	return *pool.MinIdle
}

func optionsOf(plan *Plan) (*redis.Options, error) {
	endpoint := plan.Endpoints[0]
	options := &redis.Options{
		Network:      "tcp",
		Addr:         net.JoinHostPort(endpoint.Host, strconv.Itoa(endpoint.Port)),
		DB:           endpoint.Database,
		Protocol:     map[string]int{"resp2": 2, "resp3": 3}[plan.Protocol],
		MaxRetries:   -1, // what is sent is sent once
		DialTimeout:  milliseconds(plan.Timeouts.ConnectMs),
		ReadTimeout:  milliseconds(plan.Timeouts.RequestMs),
		WriteTimeout: milliseconds(plan.Timeouts.RequestMs),
		PoolSize:     plan.Pool.Connections,
		PoolTimeout:  forever,
		PoolFIFO:     plan.Pool.Order == "fifo",
		MinIdleConns: minIdle(plan.Pool),
		// By a notice of maintenance (MOVING, over RESP3) a server could send us, and the password, to any other host.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if plan.Pool.MaxIdle != nil {
		// go-redis takes 0 for no limit.
		options.MaxIdleConns = max(1, *plan.Pool.MaxIdle)
	}
	if endpoint.UnixPath != nil {
		options.Network, options.Addr = "unix", *endpoint.UnixPath
	}
	if endpoint.Username != nil {
		options.Username = *endpoint.Username
	}
	if endpoint.Password != nil {
		options.Password = *endpoint.Password
	}
	var err error
	options.TLSConfig, err = tlsOf(endpoint)
	return options, err
}

func milliseconds(ms float64) time.Duration {
	return time.Duration(max(1, min(ms*float64(time.Millisecond), float64(forever))))
}

func tlsOf(endpoint Endpoint) (*tls.Config, error) {
	if endpoint.TLS == nil {
		return nil, nil
	}
	config := &tls.Config{ServerName: endpoint.Host, InsecureSkipVerify: !endpoint.TLS.Verify, MinVersion: tls.VersionTLS12}
	if endpoint.TLS.ServerName != nil {
		config.ServerName = *endpoint.TLS.ServerName
	}
	if file := endpoint.TLS.CAFile; file != nil {
		text, err := os.ReadFile(*file)
		if err != nil {
			return nil, wrongPlan("endpoints[0].tls.ca_file: %v", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, wrongPlan("endpoints[0].tls.ca_file: %s holds no certificate", *file)
		}
	}
	if endpoint.TLS.CertFile != nil && endpoint.TLS.KeyFile != nil {
		certificate, err := tls.LoadX509KeyPair(*endpoint.TLS.CertFile, *endpoint.TLS.KeyFile)
		if err != nil {
			return nil, wrongPlan("endpoints[0].tls.cert_file: %v", err)
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	return config, nil
}

// open opens the connections that are to be idle when the load begins.
func (s *server) open(plan *Plan, kept int) error {
	pool := plan.Pool
	if pool.MinIdle == nil || *pool.MinIdle >= pool.Connections {
		return s.greet(pool.Connections)
	}
	if err := s.greet(1); err != nil {
		return err
	}
	deadline := time.Now().Add(milliseconds(plan.Timeouts.ConnectMs))
	for s.connections() < int64(kept) && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	return nil
}

// greet opens so many connections, logs in on them at the same time, and gives them back to the pool.
func (s *server) greet(connections int) error {
	ctx := context.Background()
	held := make([]*redis.Conn, connections)
	errs := make(chan error, len(held))
	for i := range held {
		held[i] = s.client.Conn()
		go func() { errs <- held[i].Ping(ctx).Err() }()
	}
	var failure error
	for range held {
		if err := <-errs; err != nil {
			failure = err
		}
	}
	for _, connection := range held {
		connection.Close()
	}
	return failure
}

// connections is how many are open.
func (s *server) connections() int64 {
	return int64(s.client.PoolStats().TotalConns)
}
