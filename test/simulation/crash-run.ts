/** Runs one fixed workflow, without a crash or with crashes at given port calls. */
import type { RunAttempt } from '../../lib/service/commit/plans.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { loadPayload } from '../../lib/service/run-log/payloads.ts';
import type { WorkflowOptions } from '../../lib/engine/graph/definition.ts';
import type { RunEvents } from '../../lib/engine/run-events.ts';
import { type JsonValue, isJsonObject } from '../../lib/engine/json.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import type { Instant } from '../../lib/engine/time.ts';
import type { RunActions } from '../conformance/run-actions.ts';
import { type CrashPoint, type FaultRates, noFaults } from './faults.ts';
import type { FunctionOverrides } from './functions.ts';
import type { Process } from './process.ts';
import { type RecordedAnswers, type Script, ScriptedWorkload } from './scripted.ts';
import { type SimulationOptions, type SimulationReport, simulate } from './simulation.ts';
import { ExhaustedRetries } from './exhausted-retries.ts';
import type { WorkloadParts } from './workload.ts';

export interface FixedWorkflow extends Script {
  readonly name: string;
  /** the name of the workflow that it repeats with other settings */
  readonly variantOf?: string;
  readonly limits?: WorkflowOptions;
  /** default: each end */
  readonly runEvents?: RunEvents;
  readonly modules?: FunctionOverrides['modules'];
  readonly attempts?: (process: Process, deps: Deps, outside: RunActions, parts: WorkloadParts) => RunAttempt;
}

/** The result of a run. */
export interface RunResult {
  readonly status: string;
  /** as JSON */
  readonly output: string;
  /** the status of each node outside loops */
  readonly nodes: string;
  /** code steps whose attempts all failed by themselves */
  readonly spent: ReadonlySet<string>;
  /** code steps that failed by themselves before their last attempt */
  readonly givenUp: readonly string[];
}

export interface CrashRun {
  readonly calls: readonly string[];
  readonly report: SimulationReport;
  readonly result: RunResult;
  readonly answers: RecordedAnswers;
}

export interface CrashRunOptions {
  readonly crashPoints?: readonly CrashPoint[];
  /** of the run without a crash */
  readonly presetAnswers?: RecordedAnswers;
  readonly planted?: SimulationOptions['planted'];
  readonly onCommit?: (commit: Commit, now: Instant) => void;
  /** absent: no faults except the planned crashes */
  readonly chaos?: { readonly seed: number; readonly rates: FaultRates };
}

/** The seed of all fixed workflows: it determines the durations of calls and messages. */
const calmSeed = 7;

export async function crashRun(
  fixed: FixedWorkflow,
  {
    crashPoints = [],
    presetAnswers = new Map(),
    planted,
    onCommit,
    chaos = { seed: calmSeed, rates: noFaults },
  }: CrashRunOptions = {},
): Promise<CrashRun> {
  const calls: string[] = [];
  const tries = new ExhaustedRetries();
  const made: { scripted?: ScriptedWorkload; parts?: WorkloadParts } = {};
  const here = (): { scripted: ScriptedWorkload; parts: WorkloadParts } => {
    const { scripted, parts } = made;
    if (scripted === undefined || parts === undefined) throw new Error('the run has not started yet');
    return { scripted, parts };
  };
  const { types, modules, attempts } = fixed;
  const report = await simulate({
    ...chaos,
    crashPoints,
    onCall: (name) => calls.push(name),
    onCommit: (run, commit) => {
      tries.committed(run, commit);
      onCommit?.(commit, here().parts.around.time.now);
    },
    ...(fixed.limits === undefined ? {} : { limits: fixed.limits }),
    ...(fixed.runEvents === undefined ? {} : { runEvents: fixed.runEvents }),
    ...(planted === undefined ? {} : { planted }),
    workings: {
      ...(types === undefined ? {} : { types }),
      ...(modules === undefined ? {} : { modules }),
      ...(attempts === undefined
        ? {}
        : { attempts: (process, deps) => attempts(process, deps, here().scripted.outside, here().parts) }),
    },
    workload: (parts) => {
      made.parts = parts;
      made.scripted = new ScriptedWorkload(fixed, parts, presetAnswers);
      if (chaos.rates !== noFaults) made.scripted.enableChaos();
      return made.scripted;
    },
  });
  const { scripted, parts } = here();
  return { calls, report, result: await cameTo(scripted, parts, tries), answers: scripted.answers };
}

/** Independent of the order of keys. */
const canonical = (value: JsonValue): string =>
  JSON.stringify(value, (_key, each: JsonValue) =>
    isJsonObject(each) ? Object.fromEntries(Object.entries(each).toSorted(([one], [other]) => (one < other ? -1 : 1))) : each,
  );

async function cameTo({ run }: ScriptedWorkload, { checker, world }: WorkloadParts, tries: ExhaustedRetries): Promise<RunResult> {
  const state = run === undefined ? undefined : checker.stateOf(run.runId);
  if (run === undefined || state === undefined) throw new Error('the run was not found');
  const { progress } = state;
  const output =
    progress.status !== 'completed'
      ? null
      : 'value' in progress.output
        ? progress.output.value
        : await loadPayload(world.deps, run, progress.output.ref);
  const nodes = [...state.nodes.entries()]
    .map(([key, node]) => `${key}=${node.status}`)
    // The number of workflow tasks depends on how many waits one workflow task survives.
    .filter((each) => !each.includes('@') && !each.startsWith('.workflow-task.'));
  return {
    status: progress.status,
    output: canonical(output),
    nodes: nodes.toSorted().join(' '),
    spent: tries.in(run.runId),
    givenUp: tries.abandonedIn(run.runId),
  };
}
