/** Limits of code workflows and their steps. */
import { maxStalls, maxStepAttempts } from '../../lib/engine/durable/apply-command-batch.ts';
import { maxTaskCrashes } from '../../lib/engine/durable/workflow-task.ts';
import { maxDivergedRollbacks, rollbackGrace } from '../../lib/engine/durable/decide.ts';
import { maxTaskDeferral } from '../../lib/engine/durable/workflow-task.ts';
import { printedLimits } from '../../lib/engine/log/event-limits.ts';
import { jsonLimits } from '../../lib/engine/validate-json.ts';
import { graceMs } from '../../lib/program/execute-workflow-task.ts';
import { defaultStepAttempts } from '../../lib/program/find-workflow.ts';
import { maxInlineRetryWait } from '../../lib/program/live-execution.ts';
import { defaultStallTimeoutMs } from '../../lib/program/start-workflow-task.ts';
import { defaultCallTimeout, maxStepNameLength } from '../../lib/program/step-api.ts';
import { maxStoredBytes } from '../../lib/program/stored-value.ts';
import { maxReplacedResults } from '../../lib/api/schemas/runs.ts';
import { maxCopiedValues } from '../../lib/service/kinds/code/rerun-code-run.ts';
import { minStepTimeMs } from '../../lib/service/kinds/code/run-workflow-task.ts';
import { type LimitSection, bytes, characters, count, days, hours, levels, minutes, phrase, seconds } from './limit.ts';

export const codeWorkflows: LimitSection = {
  title: 'Code workflows',
  per: 'run',
  limits: [
    {
      name: 'Attempts of steps of a run',
      value: count(defaultStepAttempts),
      atLimit: 'the run fails with `step_limit_exceeded`; `maxStepAttempts` of the workflow',
      definedIn: ['lib/program/find-workflow.ts'],
    },
    {
      name: 'Most that a workflow may set',
      value: count(maxStepAttempts),
      per: 'workflow',
      atLimit: '`defineWorkflow` throws; no run has more',
      definedIn: ['lib/engine/durable/apply-command-batch.ts'],
    },
    {
      name: 'Large results that a rerun from a step copies',
      value: count(maxCopiedValues),
      per: 'rerun',
      atLimit: '`rerun_too_large`: rerun from an earlier step',
      definedIn: ['lib/service/kinds/code/rerun-code-run.ts'],
    },
    {
      name: 'Results that a rerun replaces',
      value: count(maxReplacedResults),
      per: 'rerun',
      atLimit: 'the request fails with `invalid_request`',
      definedIn: ['lib/api/schemas/runs.ts'],
    },
    {
      name: 'Name of a step',
      value: characters(maxStepNameLength),
      per: 'step',
      atLimit: 'the step is refused with `step_invalid`',
      definedIn: ['lib/program/step-api.ts'],
    },
    {
      name: 'Stored result, input or data',
      value: bytes(maxStoredBytes),
      per: 'value',
      atLimit: '`result_too_large` and similar codes; no retry',
      definedIn: ['lib/program/stored-value.ts'],
    },
    {
      name: 'Levels of a stored value',
      value: levels(jsonLimits.levels),
      per: 'value',
      atLimit: '`result_not_serialisable` and similar codes; no retry',
      definedIn: ['lib/engine/validate-json.ts'],
    },
    {
      name: 'Lines that a body prints',
      value: phrase`${count(printedLimits.lines)}, at most ${bytes(printedLimits.bytes)}`,
      per: 'attempt',
      atLimit: 'Stepwell drops the rest, and the last line says so',
      definedIn: ['lib/engine/log/event-limits.ts'],
    },
    {
      name: 'Code that asks for nothing',
      value: seconds(defaultStallTimeoutMs),
      per: 'workflow task',
      atLimit: 'Stepwell defers the workflow task with `code_stalled`. During a replay this is a nondeterminism error',
      definedIn: ['lib/program/start-workflow-task.ts'],
    },
    {
      name: 'Workflow tasks that stall',
      value: count(maxStalls),
      atLimit: 'the run fails with `code_stalled`',
      definedIn: ['lib/engine/durable/apply-command-batch.ts'],
    },
    {
      name: 'Tries to undo what diverges',
      value: count(maxDivergedRollbacks),
      atLimit: 'the run ends, and names the steps that were not rolled back',
      definedIn: ['lib/engine/durable/decide.ts'],
    },
    {
      name: 'Workflow tasks that crash their thread',
      value: count(maxTaskCrashes),
      atLimit: 'the run fails with `code_crashed`. Only crashes without a running step count',
      definedIn: ['lib/engine/durable/workflow-task.ts'],
    },
    {
      name: 'Wait before a workflow task is retried',
      value: minutes(maxTaskDeferral),
      per: 'workflow task',
      atLimit: 'the wait begins at 5 s and doubles up to this. The retries never stop',
      definedIn: ['lib/engine/durable/workflow-task.ts'],
    },
    {
      name: 'Time that a step has at least',
      value: seconds(minStepTimeMs),
      per: 'step',
      atLimit:
        "no step begins in the last minute of a function's time, or in its last quarter if that is less; another workflow task continues",
      definedIn: ['lib/service/kinds/code/run-workflow-task.ts'],
    },
    {
      name: 'Retry that is waited for in place',
      value: seconds(maxInlineRetryWait),
      per: 'step',
      atLimit: 'a later retry occupies no machine until it is due',
      definedIn: ['lib/program/live-execution.ts'],
    },
    {
      name: 'Body that is to end',
      value: seconds(graceMs),
      per: 'workflow task',
      atLimit: 'the workflow task continues without it',
      definedIn: ['lib/program/execute-workflow-task.ts'],
    },
    {
      name: 'Wait for another workflow',
      value: days(defaultCallTimeout),
      per: 'step',
      atLimit: 'the step fails with `workflow_expired`; `timeout` of the step',
      definedIn: ['lib/program/step-api.ts'],
    },
    {
      name: 'Undoing after the deadline',
      value: hours(rollbackGrace),
      atLimit: 'the run ends without further rollback',
      definedIn: ['lib/engine/durable/decide.ts'],
    },
  ],
};
