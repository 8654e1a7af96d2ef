"""The settings of Redis and Valkey, by what an experiment may do with them; see `servers.known_settings`.

From `CONFIG GET *` of Redis 7.0 and 8.2 and of Valkey 9, with the directives that only a configuration file has.
"""

import re

from loadstone.servers.known_settings import KnownSettings, names_of

KNOWN = KnownSettings(
    software="Redis",
    made_from=("7.0.", "8.2.", "9."),
    canonical=str.lower,
    name_form=re.compile(r"[a-zA-Z0-9_.-]+"),
    unwritable=re.compile(r"[\r\n\0]"),
    harmless=names_of(
        """
        acl-pubsub-default acllog-max-len active-defrag-cycle-max active-defrag-cycle-min active-defrag-cycle-us
        active-defrag-ignore-bytes active-defrag-max-scan-fields active-defrag-threshold-lower
        active-defrag-threshold-upper active-expire-effort activedefrag activerehashing always-show-logo
        aof-disable-auto-gc aof-load-truncated aof-rewrite-cpulist aof-rewrite-incremental-fsync
        aof-timestamp-enabled aof-use-rdb-preamble aof_rewrite_cpulist appendfsync appendonly
        auto-aof-rewrite-min-size auto-aof-rewrite-percentage availability-zone bgsave-cpulist bgsave_cpulist
        bio-cpulist bio_cpulist busy-reply-threshold client-output-buffer-limit client-query-buffer-limit
        cluster-allow-pubsubshard-when-down cluster-allow-reads-when-down cluster-allow-replica-migration
        cluster-blacklist-ttl cluster-compatibility-sample-ratio cluster-config-save-behavior cluster-databases
        cluster-link-sendbuf-limit cluster-manual-failover-timeout cluster-migration-barrier cluster-node-timeout
        cluster-preferred-endpoint-type cluster-replica-no-failover cluster-replica-validity-factor
        cluster-require-full-coverage cluster-slave-no-failover cluster-slave-validity-factor
        cluster-slot-migration-log-max-len cluster-slot-stats-enabled commandlog-execution-slower-than
        commandlog-large-reply-max-len commandlog-large-request-max-len commandlog-reply-larger-than
        commandlog-request-larger-than commandlog-slow-execution-max-len crash-log-enabled crash-memcheck-enabled
        databases disable-thp dual-channel-replication-enabled dynamic-hz extended-redis-compatibility
        hash-max-listpack-entries hash-max-listpack-value hash-max-ziplist-entries hash-max-ziplist-value hash-seed
        hide-user-data-from-log hll-sparse-max-bytes hz ignore-warnings import-mode io-threads io-threads-do-reads
        jemalloc-bg-thread latency-monitor-threshold latency-tracking latency-tracking-info-percentiles
        lazyfree-lazy-eviction lazyfree-lazy-expire lazyfree-lazy-server-del lazyfree-lazy-user-del
        lazyfree-lazy-user-flush lfu-decay-time lfu-log-factor list-compress-depth list-max-listpack-size
        list-max-ziplist-size log-format log-timestamp-format loglevel lua-time-limit max-new-connections-per-cycle
        max-new-tls-connections-per-cycle maxclients maxmemory maxmemory-clients maxmemory-eviction-tenacity
        maxmemory-policy maxmemory-samples min-replicas-max-lag min-replicas-to-write min-slaves-max-lag
        min-slaves-to-write mptcp no-appendfsync-on-rewrite notify-keyspace-events prefetch-batch-max-size
        proc-title-template propagation-error-behavior proto-max-bulk-len rdb-del-sync-files
        rdb-save-incremental-fsync rdb-version-check rdbchecksum rdbcompression rdma-rx-size repl-backlog-size
        repl-backlog-ttl repl-disable-tcp-nodelay repl-diskless-load repl-diskless-sync repl-diskless-sync-delay
        repl-diskless-sync-max-replicas repl-mptcp repl-ping-replica-period repl-ping-slave-period repl-timeout
        replica-full-sync-buffer-limit replica-ignore-disk-write-errors replica-ignore-maxmemory replica-lazy-flush
        replica-priority replica-read-only replica-serve-stale-data sanitize-dump-payload save server-cpulist
        server_cpulist set-max-intset-entries set-max-listpack-entries set-max-listpack-value set-proc-title
        shutdown-on-sigint shutdown-on-sigterm shutdown-timeout slave-ignore-maxmemory slave-lazy-flush
        slave-priority slave-read-only slave-serve-stale-data slot-migration-max-failover-repl-bytes
        slowlog-log-slower-than slowlog-max-len stop-writes-on-bgsave-error stream-node-max-bytes
        stream-node-max-entries syslog-facility syslog-ident tcp-backlog tcp-keepalive timeout
        tracking-table-max-keys vset-force-single-threaded-execution zset-max-listpack-entries
        zset-max-listpack-value zset-max-ziplist-entries zset-max-ziplist-value
        """
    ),
    switches=frozenset(),
    asks=names_of(
        """
        appenddirname appendfilename bind-source-addr cluster-announce-bus-port cluster-announce-client-ipv4
        cluster-announce-client-ipv6 cluster-announce-client-port cluster-announce-client-tls-port
        cluster-announce-hostname cluster-announce-human-nodename cluster-announce-ip cluster-announce-port
        cluster-announce-tls-port cluster-config-file dbfilename enable-debug-command enable-module-command
        enable-protected-configs locale-collate oom-score-adj oom-score-adj-values rdma-completion-vector
        replica-announce-ip replica-announce-port replica-announced slave-announce-ip slave-announce-port
        socket-mark-id syslog-enabled tls-auth-clients tls-auth-clients-user tls-auto-reload-interval
        tls-ca-cert-dir tls-ca-cert-file tls-cert-file tls-ciphers tls-ciphersuites tls-client-cert-file
        tls-client-key-file tls-cluster tls-dh-params-file tls-key-file tls-prefer-server-ciphers tls-protocols
        tls-replication tls-session-cache-size tls-session-cache-timeout tls-session-caching
        """
    ),
    refused=names_of(
        """
        aclfile bind cluster-enabled cluster-port daemonize dir include loadmodule logfile masterauth masteruser
        pidfile port primaryauth primaryuser protected-mode rdma-bind rdma-port rename-command replicaof requirepass
        slaveof supervised tls-client-key-file-pass tls-key-file-pass tls-port unixsocket unixsocketgroup
        unixsocketperm user
        """
    ),
)
