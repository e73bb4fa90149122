/** Limits of schedules, of stored queries, and of traces that are sent to a collector. */
import { queryLimitBytes } from '../../lib/api/definition-routes.ts';
import { scheduleLimitBytes } from '../../lib/api/schedule-routes.ts';
import { maxCatchUpSeconds, minCatchUpSeconds } from '../../lib/api/schemas/schedules.ts';
import { collectorTimeoutMs } from '../../lib/aws/otlp-spans.ts';
import { maxSenders, maxTraceHours } from '../../lib/constructs/traces.ts';
import { queryLimits } from '../../lib/engine/query/definition.ts';
import { maxRate } from '../../lib/engine/schedule/timing.ts';
import { maxSpansPerRequest, maxSpansPerRun } from '../../lib/service/runs/export-run-trace.ts';
import { maxStoredFires } from '../../lib/service/schedules/fire-schedule.ts';
import { pages } from './aws-quotas.ts';
import { type LimitSection, bytes, characters, count, days, hour, hours, phrase, seconds } from './limit.ts';

export const schedules: LimitSection = {
  title: 'Schedules, queries and traces',
  per: 'query',
  limits: [
    {
      name: 'Body that makes or changes a schedule',
      value: bytes(scheduleLimitBytes),
      per: 'request',
      atLimit: '`payload_too_large` (413)',
      definedIn: ['lib/api/schedule-routes.ts'],
    },
    {
      name: 'Rate of a schedule',
      value: days(maxRate),
      per: 'schedule',
      atLimit: '`invalid_request` (400) with `rate_invalid`. The minimum is a minute',
      definedIn: ['lib/engine/schedule/timing.ts'],
    },
    {
      name: "Lateness of a schedule's time",
      value: phrase`${seconds(maxCatchUpSeconds * 1_000)}, at least ${seconds(minCatchUpSeconds * 1_000)}`,
      per: 'schedule',
      atLimit: 'the schedule starts nothing and records `missed`; `catchUpSeconds`',
      definedIn: ['lib/api/schemas/schedules.ts'],
    },
    {
      name: 'Recorded times of a schedule',
      value: count(maxStoredFires),
      per: 'schedule',
      atLimit: '`recentFires` drops older ones',
      definedIn: ['lib/service/schedules/fire-schedule.ts'],
    },
    {
      name: 'Body that publishes a query',
      value: bytes(queryLimitBytes),
      per: 'request',
      atLimit: '`payload_too_large` (413)',
      definedIn: ['lib/api/definition-routes.ts'],
    },
    {
      name: 'Parameters of a query',
      value: count(queryLimits.parameters),
      atLimit: '`invalid_request` (400)',
      definedIn: ['lib/engine/query/definition.ts'],
    },
    {
      name: 'Statement of a query',
      value: characters(queryLimits.statementCharacters),
      atLimit: '`invalid_request` (400)',
      definedIn: ['lib/engine/query/definition.ts'],
    },
    {
      name: 'Rows of a query',
      value: phrase`${count(queryLimits.rows.standard)}, at most ${count(queryLimits.rows.max)}`,
      atLimit: 'the node fails with `result_too_large`; field `maxRows`',
      definedIn: ['lib/engine/query/definition.ts'],
    },
    {
      name: 'Result of a query',
      value: phrase`${bytes(queryLimits.bytes.standard)}, at most ${bytes(queryLimits.bytes.max)}`,
      atLimit: 'the node fails with `result_too_large`; field `maxBytes`',
      definedIn: ['lib/engine/query/definition.ts'],
    },
    {
      name: 'Time of a query',
      value: phrase`${seconds(queryLimits.ms.standard)}, at most ${seconds(queryLimits.ms.max)}`,
      atLimit: 'the node fails with `query_timeout`; field `timeoutMs`',
      definedIn: ['lib/engine/query/definition.ts'],
    },
    {
      name: 'Answer to a query by the Data API',
      value: bytes(queryLimits.aurora.bytes),
      atLimit: 'a larger `maxBytes` is refused with `config_invalid`. The service also limits a row to 64 KB',
      definedIn: ['lib/engine/query/definition.ts'],
      quota: pages.dataApi,
    },
    {
      name: 'Time of a query by the Data API',
      value: seconds(queryLimits.aurora.ms),
      atLimit: 'a larger `timeoutMs` is refused with `config_invalid`. The service ends the statement at this time',
      definedIn: ['lib/engine/query/definition.ts'],
      quota: pages.dataApi,
    },
    {
      name: 'Spans of a run',
      value: count(maxSpansPerRun),
      per: 'run',
      atLimit: "Stepwell drops the others; the run's span has their number",
      definedIn: ['lib/service/runs/export-run-trace.ts'],
    },
    {
      name: 'Spans of a request to a collector',
      value: count(maxSpansPerRequest),
      per: 'request',
      atLimit: 'the next request sends the rest',
      definedIn: ['lib/service/runs/export-run-trace.ts'],
    },
    {
      name: 'A request to a collector',
      value: seconds(collectorTimeoutMs),
      per: 'request',
      atLimit: 'the request fails, and Stepwell retries it',
      definedIn: ['lib/aws/otlp-spans.ts'],
    },
    {
      name: 'An end of a run waits for its trace',
      value: hours(maxTraceHours * hour),
      per: 'run',
      atLimit: 'after it, the run has no trace',
      definedIn: ['lib/constructs/traces.ts'],
    },
    {
      name: 'Functions that send traces at once',
      value: count(maxSenders),
      per: 'installation',
      atLimit: 'further ended runs wait for their trace',
      definedIn: ['lib/constructs/traces.ts'],
    },
  ],
};
