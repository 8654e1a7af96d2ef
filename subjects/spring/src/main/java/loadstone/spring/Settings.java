package loadstone.spring;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * What an experiment varies.
 *
 * @param store where posts are kept
 * @param cache whether rows and feed are kept in Redis
 * @param keyPrefix what every key in Redis begins with
 */
@ConfigurationProperties("subject")
public record Settings(
        @DefaultValue("MARIADB") Store store,
        @DefaultValue("false") boolean cache,
        @DefaultValue("loadstone:subject:") String keyPrefix) {

    /** Where posts are kept: a table of a database, a hash by a Spring Data repository, or a JSON string. */
    public enum Store {
        MARIADB,
        POSTGRESQL,
        REDIS_HASH,
        REDIS_JSON
    }
}
