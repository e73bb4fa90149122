/** One fixed workflow, run once: without a crash, or with crashes that are aimed at its port calls. */
import type { RunAttempt } from '../../lib/service/graph.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { load } from '../../lib/service/payloads.ts';
import type { WorkflowOptions } from '../../lib/engine/graph/definition.ts';
import { type JsonValue, isJsonObject } from '../../lib/engine/json.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import type { Instant } from '../../lib/engine/time.ts';
import type { Outside } from '../conformance/outside.ts';
import { type Aim, type FaultRates, noFaults } from './faults.ts';
import type { Workings } from './functions.ts';
import type { Process } from './process.ts';
import { type Answers, type Script, Scripted } from './scripted.ts';
import { type SimulationOptions, type SimulationReport, simulate } from './simulation.ts';
import { SpentTries } from './spent-tries.ts';
import type { WorkloadParts } from './workload.ts';

export interface FixedWorkflow extends Script {
  readonly name: string;
  readonly limits?: WorkflowOptions;
  readonly modules?: Workings['modules'];
  readonly attempts?: (process: Process, deps: Deps, outside: Outside, parts: WorkloadParts) => RunAttempt;
}

/** What a run came to. */
export interface Came {
  readonly status: string;
  /** as JSON */
  readonly output: string;
  /** of each node outside loops how it ended */
  readonly nodes: string;
  /** steps of code that have failed by themselves as often as they may be tried */
  readonly spent: ReadonlySet<string>;
  /** steps of code that failed by themselves before their last try */
  readonly givenUp: readonly string[];
}

export interface CrashRun {
  readonly calls: readonly string[];
  readonly report: SimulationReport;
  readonly came: Came;
  readonly answers: Answers;
}

export interface CrashRunOptions {
  readonly aims?: readonly Aim[];
  /** of the calm run */
  readonly told?: Answers;
  readonly planted?: SimulationOptions['planted'];
  readonly onCommit?: (commit: Commit, now: Instant) => void;
  /** absent: nothing goes wrong but what is aimed */
  readonly weather?: { readonly seed: number; readonly rates: FaultRates };
}

/** All fixed workflows go on as this seed has it: it says how long calls and messages take. */
const calmSeed = 7;

export async function crashRun(
  fixed: FixedWorkflow,
  { aims = [], told = new Map(), planted, onCommit, weather = { seed: calmSeed, rates: noFaults } }: CrashRunOptions = {},
): Promise<CrashRun> {
  const calls: string[] = [];
  const tries = new SpentTries();
  const made: { scripted?: Scripted; parts?: WorkloadParts } = {};
  const here = (): { scripted: Scripted; parts: WorkloadParts } => {
    const { scripted, parts } = made;
    if (scripted === undefined || parts === undefined) throw new Error('nothing is run yet');
    return { scripted, parts };
  };
  const { types, modules, attempts } = fixed;
  const report = await simulate({
    ...weather,
    aims,
    onCall: (name) => calls.push(name),
    onCommit: (run, commit) => {
      tries.committed(run, commit);
      onCommit?.(commit, here().parts.around.time.now);
    },
    ...(fixed.limits === undefined ? {} : { limits: fixed.limits }),
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
      made.scripted = new Scripted(fixed, parts, told);
      if (weather.rates !== noFaults) made.scripted.goesRough();
      return made.scripted;
    },
  });
  const { scripted, parts } = here();
  return { calls, report, came: await cameTo(scripted, parts, tries), answers: scripted.answers };
}

/** Whatever the order in which its keys were set. */
const canonical = (value: JsonValue): string =>
  JSON.stringify(value, (_key, each: JsonValue) =>
    isJsonObject(each) ? Object.fromEntries(Object.entries(each).toSorted(([one], [other]) => (one < other ? -1 : 1))) : each,
  );

async function cameTo({ run }: Scripted, { checker, world }: WorkloadParts, tries: SpentTries): Promise<Came> {
  const state = run === undefined ? undefined : checker.stateOf(run.runId);
  if (run === undefined || state === undefined) throw new Error('the run is gone');
  const { progress } = state;
  const output =
    progress.status !== 'completed'
      ? null
      : 'value' in progress.output
        ? progress.output.value
        : await load(world.deps, run, progress.output.ref);
  const nodes = [...state.nodes.entries()]
    .map(([key, node]) => `${key}=${node.status}`)
    // How often code is driven until it is done is a matter of how many of its waits a drive outlives.
    .filter((each) => !each.includes('@') && !each.startsWith('.drive.'));
  return {
    status: progress.status,
    output: canonical(output),
    nodes: nodes.toSorted().join(' '),
    spent: tries.in(run.runId),
    givenUp: tries.givenUpIn(run.runId),
  };
}
