"""The settings of MariaDB, by what an experiment may do with them; see `servers.known_settings`.

From `mariadbd --no-defaults --help --verbose` of MariaDB 10.11. All numbers, switches, enumerations and sets are
harmless, except those that are named otherwise; of the texts those are that name no file, no program and no address.

mariadbd takes the beginning of a name for the whole one and knows prefixes, in option files, too: `skip_grant` would be
`skip_grant_tables`, and so would `loose_skip_grant_tables`. Whole names alone are handed on, and the option file turns
the beginnings off (`local.options_text`). mariadb-install-db reads the option file by a shell, which cuts values at
blanks: a word that begins with a dash would be an option of its own, so no value may hold one.
"""

import re

from loadstone.servers.known_settings import KnownSettings, names_of
from loadstone.servers.mariadb.session import canonical

KNOWN = KnownSettings(
    software="MariaDB",
    made_from=("10.11.",),
    canonical=canonical,
    name_form=re.compile(r"[a-zA-Z][a-zA-Z0-9_-]*"),
    unwritable=re.compile(r"[\r\n\0#\\]|\s-"),
    harmless=names_of(
        """
        alter_algorithm analyze_max_length analyze_sample_percentage aria_block_size aria_checkpoint_interval
        aria_checkpoint_log_activity aria_encrypt_tables aria_force_start_after_recovery_failures aria_group_commit
        aria_group_commit_interval aria_log_file_size aria_log_purge_type aria_max_sort_file_size aria_page_checksum
        aria_pagecache_age_threshold aria_pagecache_buffer_size aria_pagecache_division_limit
        aria_pagecache_file_hash_size aria_recover_options aria_repair_threads aria_sort_buffer_size
        aria_stats_method aria_sync_log_dir auto_increment_increment auto_increment_offset autocommit
        automatic_sp_privileges back_log big_tables binlog_alter_two_phase binlog_annotate_row_events
        binlog_cache_size binlog_checksum binlog_commit_wait_count binlog_commit_wait_usec
        binlog_direct_non_transactional_updates binlog_expire_logs_seconds binlog_file_cache_size binlog_format
        binlog_optimize_thread_scheduling binlog_row_event_max_size binlog_row_image binlog_row_metadata
        binlog_stmt_cache_size bulk_insert_buffer_size character_set_client_handshake character_set_filesystem
        character_set_server collation_server column_compression_threshold column_compression_zlib_level
        column_compression_zlib_strategy column_compression_zlib_wrap completion_type concurrent_insert
        connect_timeout date_format datetime_format deadlock_search_depth_long deadlock_search_depth_short
        deadlock_timeout_long deadlock_timeout_short debug_no_thread_alarm default_password_lifetime
        default_regex_flags default_storage_engine default_time_zone default_tmp_storage_engine default_week_format
        delay_key_write delayed_insert_limit delayed_insert_timeout delayed_queue_size
        disconnect_on_expired_password div_precision_increment encrypt_binlog encrypt_tmp_disk_tables
        encrypt_tmp_files enforce_storage_engine eq_range_index_dive_limit event_scheduler expensive_subquery_limit
        expire_logs_days explicit_defaults_for_timestamp external_locking extra_max_connections flush flush_time
        ft_boolean_syntax ft_max_word_len ft_min_word_len ft_query_expansion_limit general_log group_concat_max_len
        gtid_cleanup_batch_size gtid_domain_id gtid_ignore_duplicates gtid_strict_mode histogram_size histogram_type
        host_cache_size idle_readonly_transaction_timeout idle_transaction_timeout idle_write_transaction_timeout
        ignore_builtin_innodb ignore_db_dirs in_predicate_conversion_threshold innodb_adaptive_flushing
        innodb_adaptive_flushing_lwm innodb_adaptive_hash_index innodb_adaptive_hash_index_parts
        innodb_alter_copy_bulk innodb_autoextend_increment innodb_autoinc_lock_mode innodb_buf_dump_status_frequency
        innodb_buffer_pool_chunk_size innodb_buffer_pool_dump_at_shutdown innodb_buffer_pool_dump_now
        innodb_buffer_pool_dump_pct innodb_buffer_pool_in_core_dump innodb_buffer_pool_load_abort
        innodb_buffer_pool_load_at_startup innodb_buffer_pool_load_now innodb_buffer_pool_size
        innodb_buffer_pool_size_auto_min innodb_buffer_pool_size_max innodb_change_buffer_max_size
        innodb_change_buffering innodb_checksum_algorithm innodb_cmp_per_index_enabled innodb_compression_algorithm
        innodb_compression_default innodb_compression_failure_threshold_pct innodb_compression_level
        innodb_compression_pad_pct_max innodb_deadlock_detect innodb_deadlock_report
        innodb_default_encryption_key_id innodb_default_row_format innodb_defragment innodb_defragment_fill_factor
        innodb_defragment_fill_factor_n_recs innodb_defragment_frequency innodb_defragment_n_pages
        innodb_defragment_stats_accuracy innodb_disable_sort_file_cache innodb_doublewrite innodb_encrypt_log
        innodb_encrypt_tables innodb_encrypt_temporary_tables innodb_encryption_rotate_key_age
        innodb_encryption_rotation_iops innodb_encryption_threads innodb_fast_shutdown
        innodb_fatal_semaphore_wait_threshold innodb_file_per_table innodb_fill_factor innodb_flush_log_at_timeout
        innodb_flush_log_at_trx_commit innodb_flush_method innodb_flush_neighbors innodb_flush_sync
        innodb_flushing_avg_loops innodb_force_primary_key innodb_force_recovery innodb_ft_cache_size
        innodb_ft_enable_diag_print innodb_ft_enable_stopword innodb_ft_max_token_size innodb_ft_min_token_size
        innodb_ft_num_word_optimize innodb_ft_result_cache_limit innodb_ft_sort_pll_degree
        innodb_ft_total_cache_size innodb_immediate_scrub_data_uncompressed innodb_instant_alter_column_allowed
        innodb_io_capacity innodb_io_capacity_max innodb_linux_aio innodb_lock_wait_timeout innodb_log_buffer_size
        innodb_log_checkpoint_now innodb_log_file_buffering innodb_log_file_mmap innodb_log_file_size
        innodb_log_spin_wait_delay innodb_log_write_ahead_size innodb_lru_scan_depth innodb_max_dirty_pages_pct
        innodb_max_dirty_pages_pct_lwm innodb_max_purge_lag innodb_max_purge_lag_delay innodb_max_purge_lag_wait
        innodb_max_undo_log_size innodb_monitor_disable innodb_monitor_enable innodb_monitor_reset
        innodb_monitor_reset_all innodb_numa_interleave innodb_old_blocks_pct innodb_old_blocks_time
        innodb_online_alter_log_max_size innodb_open_files innodb_optimize_fulltext_only innodb_page_size
        innodb_prefix_index_cluster_optimization innodb_print_all_deadlocks innodb_purge_batch_size
        innodb_purge_threads innodb_random_read_ahead innodb_read_ahead_threshold innodb_read_io_threads
        innodb_read_only innodb_read_only_compressed innodb_rollback_on_timeout innodb_snapshot_isolation
        innodb_sort_buffer_size innodb_spin_wait_delay innodb_stats_auto_recalc innodb_stats_include_delete_marked
        innodb_stats_method innodb_stats_modified_counter innodb_stats_on_metadata innodb_stats_persistent
        innodb_stats_persistent_sample_pages innodb_stats_traditional innodb_stats_transient_sample_pages
        innodb_status_file innodb_status_output innodb_status_output_locks innodb_strict_mode innodb_sync_spin_loops
        innodb_table_locks innodb_undo_log_truncate innodb_undo_tablespaces innodb_use_atomic_writes
        innodb_use_native_aio innodb_write_io_threads interactive_timeout join_buffer_size join_buffer_space_limit
        join_cache_level keep_files_on_create key_buffer_size key_cache_age_threshold key_cache_block_size
        key_cache_division_limit key_cache_file_hash_size key_cache_segments large_pages lc_messages lc_time_names
        local_infile lock_wait_timeout log_bin_compress log_bin_compress_min_len log_bin_trust_function_creators
        log_disabled_statements log_output log_queries_not_using_indexes log_short_format log_slave_updates
        log_slow_admin_statements log_slow_disabled_statements log_slow_filter log_slow_max_warnings
        log_slow_min_examined_row_limit log_slow_query log_slow_query_time log_slow_rate_limit
        log_slow_slave_statements log_slow_verbosity log_tc_size log_warnings long_query_time low_priority_updates
        lower_case_table_names master_verify_checksum max_allowed_packet max_binlog_cache_size max_binlog_size
        max_binlog_stmt_cache_size max_connect_errors max_connections max_delayed_threads max_digest_length
        max_error_count max_heap_table_size max_join_size max_length_for_sort_data max_password_errors
        max_prepared_stmt_count max_recursive_iterations max_relay_log_size max_rowid_filter_size max_seeks_for_key
        max_session_mem_used max_sort_length max_sp_recursion_depth max_statement_time max_tmp_tables
        max_user_connections max_write_lock_count metadata_locks_cache_size metadata_locks_hash_instances
        min_examined_row_limit mrr_buffer_size myisam_block_size myisam_data_pointer_size myisam_max_sort_file_size
        myisam_mmap_size myisam_recover_options myisam_repair_threads myisam_sort_buffer_size myisam_stats_method
        myisam_use_mmap mysql56_temporal_format net_buffer_length net_read_timeout net_retry_count net_write_timeout
        note_verbosity old old_alter_table old_mode old_style_user_limits open_files_limit
        optimizer_adjust_secondary_key_costs optimizer_extra_pruning_depth optimizer_join_limit_pref_ratio
        optimizer_max_sel_arg_weight optimizer_max_sel_args optimizer_prune_level optimizer_search_depth
        optimizer_selectivity_sampling_limit optimizer_switch optimizer_trace optimizer_trace_max_mem_size
        optimizer_use_condition_selectivity partition performance_schema performance_schema_accounts_size
        performance_schema_consumer_events_stages_current performance_schema_consumer_events_stages_history
        performance_schema_consumer_events_stages_history_long performance_schema_consumer_events_statements_current
        performance_schema_consumer_events_statements_history
        performance_schema_consumer_events_statements_history_long
        performance_schema_consumer_events_transactions_current
        performance_schema_consumer_events_transactions_history
        performance_schema_consumer_events_transactions_history_long
        performance_schema_consumer_events_waits_current performance_schema_consumer_events_waits_history
        performance_schema_consumer_events_waits_history_long performance_schema_consumer_global_instrumentation
        performance_schema_consumer_statements_digest performance_schema_consumer_thread_instrumentation
        performance_schema_digests_size performance_schema_events_stages_history_long_size
        performance_schema_events_stages_history_size performance_schema_events_statements_history_long_size
        performance_schema_events_statements_history_size performance_schema_events_transactions_history_long_size
        performance_schema_events_transactions_history_size performance_schema_events_waits_history_long_size
        performance_schema_events_waits_history_size performance_schema_hosts_size performance_schema_instrument
        performance_schema_max_cond_classes performance_schema_max_cond_instances
        performance_schema_max_digest_length performance_schema_max_file_classes performance_schema_max_file_handles
        performance_schema_max_file_instances performance_schema_max_index_stat
        performance_schema_max_memory_classes performance_schema_max_metadata_locks
        performance_schema_max_mutex_classes performance_schema_max_mutex_instances
        performance_schema_max_prepared_statements_instances performance_schema_max_program_instances
        performance_schema_max_rwlock_classes performance_schema_max_rwlock_instances
        performance_schema_max_socket_classes performance_schema_max_socket_instances
        performance_schema_max_sql_text_length performance_schema_max_stage_classes
        performance_schema_max_statement_classes performance_schema_max_statement_stack
        performance_schema_max_table_handles performance_schema_max_table_instances
        performance_schema_max_table_lock_stat performance_schema_max_thread_classes
        performance_schema_max_thread_instances performance_schema_session_connect_attrs_size
        performance_schema_setup_actors_size performance_schema_setup_objects_size performance_schema_users_size
        port_open_timeout preload_buffer_size profiling_history_size progress_report_time query_alloc_block_size
        query_cache_limit query_cache_min_res_unit query_cache_size query_cache_strip_comments query_cache_type
        query_cache_wlock_invalidate query_prealloc_size range_alloc_block_size read_binlog_speed_limit
        read_buffer_size read_rnd_buffer_size relay_log_purge relay_log_recovery relay_log_space_limit
        replicate_annotate_row_events replicate_events_marked_for_skip require_secure_transport
        rowid_merge_buff_size rpl_semi_sync_master_enabled rpl_semi_sync_master_timeout
        rpl_semi_sync_master_trace_level rpl_semi_sync_master_wait_no_slave rpl_semi_sync_master_wait_point
        rpl_semi_sync_slave_delay_master rpl_semi_sync_slave_enabled rpl_semi_sync_slave_kill_conn_timeout
        rpl_semi_sync_slave_trace_level safe_user_create secure_timestamp sequence session_track_schema
        session_track_state_change session_track_system_variables session_track_transaction_info silent_startup
        skip_external_locking skip_log_bin skip_show_database skip_slave_start skip_ssl slave_compressed_protocol
        slave_ddl_exec_mode slave_domain_parallel_threads slave_exec_mode slave_max_allowed_packet
        slave_max_statement_time slave_net_timeout slave_parallel_max_queued slave_parallel_mode
        slave_parallel_threads slave_parallel_workers slave_run_triggers_for_rbr slave_skip_errors
        slave_sql_verify_checksum slave_transaction_retries slave_transaction_retry_errors
        slave_transaction_retry_interval slave_type_conversions slow_launch_time slow_query_log sort_buffer_size
        sql_mode sql_safe_updates stack_trace standard_compliant_cte stored_program_cache strict_password_validation
        sync_binlog sync_frm sync_master_info sync_relay_log sync_relay_log_info sysdate_is_now
        system_versioning_alter_history system_versioning_insert_history table_cache table_definition_cache
        table_open_cache table_open_cache_instances tc_heuristic_recover tcp_keepalive_interval tcp_keepalive_probes
        tcp_keepalive_time tcp_nodelay temp_pool thread_cache_size thread_handling thread_pool_dedicated_listener
        thread_pool_exact_stats thread_pool_idle_timeout thread_pool_max_threads thread_pool_oversubscribe
        thread_pool_prio_kickup_timer thread_pool_priority thread_pool_size thread_pool_stall_limit thread_stack
        time_format tmp_disk_table_size tmp_memory_table_size tmp_table_size transaction_alloc_block_size
        transaction_isolation transaction_prealloc_size transaction_read_only updatable_views_with_limit
        use_stat_tables user_variables userstat wait_timeout
        """
    ),
    switches=frozenset({"log_bin"}),
    asks=names_of(
        """
        aria_log_dir_path core_file debug debug_abort_slave_event_count debug_disconnect_slave_event_count
        debug_max_binlog_dump_events debug_no_sync debug_sporadic_binlog_dump_fail des_key_file flashback
        ft_stopword_file general_log_file gtid_pos_auto_engines init_connect init_rpl_role init_slave innodb
        innodb_buffer_page innodb_buffer_page_lru innodb_buffer_pool_filename innodb_buffer_pool_stats innodb_cmp
        innodb_cmp_per_index innodb_cmp_per_index_reset innodb_cmp_reset innodb_cmpmem innodb_cmpmem_reset
        innodb_data_file_path innodb_data_home_dir innodb_ft_aux_table innodb_ft_being_deleted innodb_ft_config
        innodb_ft_default_stopword innodb_ft_deleted innodb_ft_index_cache innodb_ft_index_table
        innodb_ft_server_stopword_table innodb_ft_user_stopword_table innodb_lock_waits innodb_locks
        innodb_log_group_home_dir innodb_metrics innodb_sys_columns innodb_sys_fields innodb_sys_foreign
        innodb_sys_foreign_cols innodb_sys_indexes innodb_sys_tables innodb_sys_tablespaces innodb_sys_tablestats
        innodb_sys_virtual innodb_tablespaces_encryption innodb_temp_data_file_path innodb_tmpdir innodb_trx
        innodb_undo_directory log_basename log_bin_index log_ddl_recovery log_isam log_slow_query_file log_tc
        master_info_file master_retry_count old_passwords plugin_maturity relay_log relay_log_index
        relay_log_info_file replicate_same_server_id report_host report_password report_port report_user secure_auth
        show_slave_auth_info slave_load_tmpdir slow_query_log_file ssl ssl_ca ssl_capath ssl_cert ssl_cipher ssl_crl
        ssl_crlpath ssl_key symbolic_links thread_pool_groups thread_pool_queues thread_pool_stats thread_pool_waits
        tls_version
        """
    ),
    refused=names_of(
        """
        allow_suspicious_udfs auth_root_authentication_method auth_root_socket_user basedir bind_address bootstrap
        builddir character_sets_dir chroot console cross_bootstrap data datadir debug_gdb defaults_extra_file
        defaults_file defaults_group_suffix extra_file extra_port feedback feedback_http_proxy
        feedback_send_retry_wait feedback_send_timeout feedback_url feedback_user_info force gdb
        getopt_prefix_matching group help init_file lc_messages_dir ldata log_error memlock no_defaults pid_file
        plugin_dir plugin_load plugin_load_add port print_defaults proxy_protocol_networks read_only rpm
        secure_file_priv server_id skip_grant_tables skip_name_resolve skip_networking skip_test_db socket srcdir
        tmpdir unix_socket user verbose version windows
        """
    ),
    refused_beginnings=("wsrep_", "feedback_"),
    prefixes=("loose_", "skip_", "disable_", "enable_", "maximum_", "autoset_"),
)
