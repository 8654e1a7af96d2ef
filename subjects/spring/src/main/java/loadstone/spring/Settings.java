package loadstone.spring;

import java.util.regex.Pattern;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * What an experiment varies.
 *
 * @param store where posts are kept
 * @param cache whether rows and feed are kept in Redis
 * @param keyPrefix what every key in Redis begins with: {@code loadstone:NAME:}, so that it is told from keys of others
 */
@ConfigurationProperties("subject")
public record Settings(
        @DefaultValue("MARIADB") Store store,
        @DefaultValue("false") boolean cache,
        @DefaultValue("loadstone:subject:") String keyPrefix) {

    private static final Pattern KEY_PREFIX = Pattern.compile("loadstone:[A-Za-z0-9_.-]+:[A-Za-z0-9_.:-]*");

    /** Whoever sets the prefix, and by whichever name: no other one is taken. */
    public Settings {
        if (!KEY_PREFIX.matcher(keyPrefix).matches()) {
            throw new IllegalArgumentException(
                    "subject.key-prefix (SUBJECT_KEYPREFIX): '" + keyPrefix + "': begin it with loadstone:NAME:");
        }
    }

    /** Where posts are kept: a table of a database, a hash by a Spring Data repository, or a JSON string. */
    public enum Store {
        MARIADB,
        POSTGRESQL,
        REDIS_HASH,
        REDIS_JSON
    }
}
