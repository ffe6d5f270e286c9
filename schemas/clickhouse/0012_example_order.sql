-- How the examples of a prompt were ordered, how often an example is shown, and what an order is
-- worth.

{columns:examples:
    ADD COLUMN IF NOT EXISTS shown UInt32 DEFAULT 0 COMMENT 'Uses in two weeks as curate published them: the power of two at or below; 0: less than twice' AFTER replays
};

{columns:example_uses:
    ADD COLUMN IF NOT EXISTS example_order LowCardinality(String) DEFAULT 'best_last' COMMENT 'Order of the examples in the prompt: best_last, shared_prefix or random' AFTER position,
    ADD COLUMN IF NOT EXISTS order_probability Float64 DEFAULT 1 COMMENT 'Probability with which that order was drawn, 0 to 1' AFTER example_order,
    MODIFY COLUMN position UInt16 COMMENT 'Position in the prompt, from 1'
};

-- A random order has the most helpful example last with the chance 1 / examples, any other has it
-- there or not by its rule. Weights undo both chances, so that groups of an arm are comparable.
CREATE OR REPLACE VIEW {database}.example_orders {on_cluster}
(
    arm LowCardinality(String) COMMENT 'Arm that answered',
    example_order LowCardinality(String) COMMENT 'Order of the examples: best_last, shared_prefix or random',
    best_is_last Bool COMMENT 'The most helpful example stands next to the question',
    requests UInt64 COMMENT 'Rewarded requests with two examples or more',
    mean_reward Float64 COMMENT 'Mean reward, weighted by the inverse probability of the order, 0 to 1',
    error Float64 COMMENT 'Standard error of mean_reward'
)
AS (
SELECT
    arm,
    example_order,
    best_is_last,
    count() AS requests,
    sum(weight * reward) / sum(weight) AS mean_reward,
    sqrt(greatest(sum(pow(weight * reward, 2)) - 2 * mean_reward * sum(weight * weight * reward) + pow(mean_reward, 2) * sum(weight * weight), 0)) / sum(weight) AS error
FROM
(
    SELECT
        use.arm AS arm,
        use.example_order AS example_order,
        use.best_is_last AS best_is_last,
        rewarded.reward AS reward,
        1 / (use.probability * if(use.example_order = 'random', if(use.best_is_last, 1, use.examples - 1) / use.examples, 1)) AS weight
    FROM
        (
            SELECT
                request_id, tenant, any(arm) AS arm, any(example_order) AS example_order, any(order_probability) AS probability,
                count() AS examples, toBool(argMax(position, (helpfulness, position)) = max(position)) AS best_is_last
            FROM {database}.example_uses FINAL
            WHERE created_at >= toStartOfHour(now('UTC')) - INTERVAL 336 HOUR
            GROUP BY request_id, tenant
            HAVING examples > 1
        ) AS use
        INNER JOIN
        (
            SELECT request_id, tenant, reward
            FROM {database}.rewards FINAL
            WHERE weight > 0
                AND (request_id, tenant) NOT IN (SELECT request_id, tenant FROM {database}.responses WHERE notEmpty(failed_arms))
        ) AS rewarded
            ON rewarded.request_id = use.request_id AND rewarded.tenant = use.tenant
)
GROUP BY arm, example_order, best_is_last
{colocated}
)
COMMENT 'Reward of two weeks by the order of the examples: a random order on a share of the requests tells what an order costs';
