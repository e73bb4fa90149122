/** Limits of every type of node, and of the nodes that wait, call and repeat. */
import { maxSignalTtlSeconds } from '../../lib/api/schemas/run-control.ts';
import { loopLimits } from '../../lib/engine/graph/loop-values.ts';
import { payloadLimits } from '../../lib/engine/graph/payload-limits.ts';
import { maxDeadline } from '../../lib/engine/log/head.ts';
import { failureLimits } from '../../lib/engine/log/event-limits.ts';
import { printedLimits } from '../../lib/engine/log/event-limits.ts';
import { maxSignalTextLength } from '../../lib/engine/ids.ts';
import { jsonLimits } from '../../lib/engine/validate-json.ts';
import { fixedDelayLimits } from '../../lib/nodes/delay/shape.ts';
import { defaultIterationsAtOnce, defaultMaxIterations, maxItemDelayMs } from '../../lib/nodes/loop/shape.ts';
import { graphDefaults, maxAttempts, maxRetryBackoff, maxTimeoutMs } from '../../lib/nodes/settings.ts';
import { defaultSignalTtl } from '../../lib/service/runs/send-signal.ts';
import { maxCallDepth } from '../../lib/service/runs/start-child-run.ts';
import {
  type LimitSection,
  bytes,
  characters,
  count,
  days,
  hours,
  levels,
  milliseconds,
  minute,
  minutes,
  phrase,
  seconds,
} from './limit.ts';

export const nodes: LimitSection = {
  title: 'Nodes',
  per: 'node',
  limits: [
    {
      name: 'Attempts of a node',
      value: phrase`${count(graphDefaults.retry.attempts)}, at most ${count(maxAttempts)}`,
      atLimit: "the last failure is final: it follows the error edge, or the run's policies decide",
      definedIn: ['lib/nodes/settings.ts'],
    },
    {
      name: 'Wait between attempts',
      value: phrase`${seconds(graphDefaults.retry.backoffMs)}, doubled up to ${seconds(graphDefaults.retry.maxBackoffMs)}`,
      atLimit: '`retry` configures longer waits',
      definedIn: ['lib/nodes/settings.ts'],
    },
    {
      name: 'Longest wait between attempts',
      value: hours(maxRetryBackoff),
      atLimit: '`config_invalid`',
      definedIn: ['lib/nodes/settings.ts'],
    },
    {
      name: 'Time of an attempt',
      value: phrase`${seconds(graphDefaults.timeoutMs)}, at most ${minutes(maxTimeoutMs)}`,
      per: 'attempt',
      atLimit: 'the attempt ends with the cause `timeout`. Lambda ends a function after 15 minutes',
      definedIn: ['lib/nodes/settings.ts'],
    },
    {
      name: 'Message of a failure',
      value: characters(failureLimits.message),
      per: 'failure',
      atLimit: 'Stepwell truncates the message',
      definedIn: ['lib/engine/log/event-limits.ts'],
    },
    {
      name: 'Details of a failure',
      value: characters(failureLimits.details),
      per: 'failure',
      atLimit: 'as JSON: Stepwell truncates a long text or list; `omitted` names what still does not fit',
      definedIn: ['lib/engine/log/event-limits.ts'],
    },
    {
      name: 'Output of a node, or of a run',
      value: bytes(payloadLimits.outputBytes),
      atLimit: 'as JSON: the node or the run fails with `output_too_large`, cause `invalid`. Many node types have a lower limit',
      definedIn: ['lib/engine/graph/payload-limits.ts'],
    },
    {
      name: 'Depth of a value',
      value: levels(jsonLimits.levels),
      per: 'value',
      atLimit:
        'the node or the run fails with `output_too_deep`, `input_too_deep` or `items_too_deep`, cause `invalid`, for a value from any source; `details.path` has the path',
      definedIn: ['lib/engine/validate-json.ts'],
    },
    {
      name: 'Context of a node',
      value: bytes(payloadLimits.contextBytes),
      atLimit:
        'the node fails with `context_too_large`, cause `invalid`; `details.path` has the path. Applies to the input of a script, to the result of `{{ctx}}`, and to the sum of all texts that templates produce',
      definedIn: ['lib/engine/graph/payload-limits.ts'],
    },
    {
      name: 'Lines that an attempt prints',
      value: count(printedLimits.lines),
      per: 'attempt',
      atLimit: 'Stepwell drops the rest, and the last line says so. Applies to every type of node',
      definedIn: ['lib/engine/log/event-limits.ts'],
    },
    {
      name: 'Text that an attempt prints',
      value: bytes(printedLimits.bytes),
      per: 'attempt',
      atLimit: 'Stepwell drops the rest, and the last line says so. Applies to every type of node',
      definedIn: ['lib/engine/log/event-limits.ts'],
    },
    {
      name: 'Fixed delay',
      value: phrase`${minutes(fixedDelayLimits.minutes * minute)} ${seconds(fixedDelayLimits.seconds * 1_000)} ${milliseconds(fixedDelayLimits.ms)}`,
      atLimit: '`config_invalid`; the parts together are 365 days at most',
      definedIn: ['lib/nodes/delay/shape.ts'],
    },
    {
      name: 'Any delay',
      value: days(maxDeadline),
      atLimit: 'the node fails with `delay_too_long`. A delay that ends after the deadline fails with `sleep_past_deadline`',
      definedIn: ['lib/engine/log/head.ts'],
    },
    {
      name: 'Name or correlation of a signal',
      value: characters(maxSignalTextLength),
      per: 'signal',
      atLimit: 'the node fails with `signal_invalid`. A longer one in a sent signal is refused with `invalid_request`',
      definedIn: ['lib/engine/ids.ts'],
    },
    {
      name: 'Wait for a signal',
      value: days(maxDeadline),
      atLimit: '`config_invalid`. A wait that would end after the deadline ends with it',
      definedIn: ['lib/engine/log/head.ts'],
    },
    {
      name: 'Signal without a wait',
      value: phrase`${days(defaultSignalTtl)}, at most ${days(maxSignalTtlSeconds * 1_000)}`,
      per: 'signal',
      atLimit: 'Stepwell stores it for this time, or for `expiresInSeconds`, and then deletes it',
      definedIn: ['lib/service/runs/send-signal.ts', 'lib/api/schemas/run-control.ts'],
    },
    {
      name: 'Nested calls of workflows',
      value: phrase`${count(maxCallDepth)} deep`,
      per: 'run',
      atLimit: 'the node fails with `subflow_too_deep`',
      definedIn: ['lib/service/runs/start-child-run.ts'],
    },
    {
      name: 'Wait for a subflow',
      value: days(maxDeadline),
      atLimit: '`config_invalid`. A wait that would end after the deadline ends with it',
      definedIn: ['lib/engine/log/head.ts'],
    },
    {
      name: 'Items of a loop',
      value: phrase`${count(defaultMaxIterations)}, at most ${count(loopLimits.items)}`,
      per: 'loop',
      atLimit: 'the loop fails with `loop_too_many_items`; `maxIterations` sets another number',
      definedIn: ['lib/nodes/loop/shape.ts', 'lib/engine/graph/loop-values.ts'],
    },
    {
      name: 'Iterations at a time',
      value: phrase`${count(defaultIterationsAtOnce)}, at most ${count(loopLimits.concurrency)}`,
      per: 'loop',
      atLimit: '`config_invalid`; field `concurrency`',
      definedIn: ['lib/nodes/loop/shape.ts', 'lib/engine/graph/loop-values.ts'],
    },
    {
      name: 'Wait between items',
      value: seconds(maxItemDelayMs),
      per: 'loop',
      atLimit: '`config_invalid`',
      definedIn: ['lib/nodes/loop/shape.ts'],
    },
    {
      name: 'Loops in each other',
      value: count(loopLimits.depth),
      per: 'workflow',
      atLimit: '`loop_too_deep`',
      definedIn: ['lib/engine/graph/loop-values.ts'],
    },
    {
      name: 'Results of a loop',
      value: bytes(loopLimits.resultsBytes),
      per: 'loop',
      atLimit: 'as JSON, all results together: the loop fails with `loop_results_too_large`',
      definedIn: ['lib/engine/graph/loop-values.ts'],
    },
  ],
};
