package loadstone.driver.run;

import loadstone.driver.client.Client;
import loadstone.driver.content.Values;
import loadstone.driver.load.Timeline;
import loadstone.driver.load.Workload;
import loadstone.driver.plan.Plan;
import loadstone.driver.record.Recording;
import loadstone.driver.reply.Judge;

/** What all callers of a drive use. */
record Session(
    Plan plan,
    Client client,
    Commands commands,
    Values values,
    Workload workload,
    Judge judge,
    Timeline timeline,
    Recording recording,
    Reach reach) {}
