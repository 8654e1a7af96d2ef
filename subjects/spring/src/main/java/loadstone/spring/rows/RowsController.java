package loadstone.spring.rows;

import java.util.List;
import java.util.Map;
import loadstone.spring.Settings;
import loadstone.spring.redis.JsonCache;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;
import tools.jackson.databind.json.JsonMapper;

/** Reads so many rows at once, and adds one: from and to the database, or from and to Redis. */
@RestController
@RequestMapping("/api/rows")
class RowsController {

    private static final int COUNT_MAX = 10_000;

    private final JdbcClient jdbc;
    private final StringRedisTemplate redis;
    private final JsonCache cache;
    private final JsonMapper json;
    private final Settings settings;

    RowsController(JdbcClient jdbc, StringRedisTemplate redis, JsonCache cache, JsonMapper json, Settings settings) {
        this.jdbc = jdbc;
        this.redis = redis;
        this.cache = cache;
        this.json = json;
        this.settings = settings;
    }

    record Row(Long id, String title, String content) {}

    record NewRow(String title, String content) {}

    @GetMapping(produces = MediaType.APPLICATION_JSON_VALUE)
    String read(@RequestParam int count) {
        if (count < 1 || count > COUNT_MAX) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST, "count must be from 1 to " + COUNT_MAX);
        }
        return cache.json("rows:" + count, () -> rows(count));
    }

    @PostMapping
    @ResponseStatus(HttpStatus.CREATED)
    Map<String, Boolean> add(@RequestBody NewRow row) {
        if (settings.cache()) {
            redis.opsForList().rightPush(settings.keyPrefix() + "rows-added", json.writeValueAsString(row));
        } else {
            jdbc.sql("INSERT INTO row_added (title, content) VALUES (?, ?)")
                    .params(row.title(), row.content())
                    .update();
        }
        return Map.of("stored", true);
    }

    private List<Row> rows(int count) {
        return jdbc.sql("SELECT id, title, content FROM post ORDER BY id LIMIT ?")
                .param(count)
                .query(Row.class)
                .list();
    }
}
