/** The counted runs of the Workflow DevKit, with bounds for counts that depend on timing. */
import { threads } from '../bench-cloud.ts';
import type { Bill } from '../bill.ts';
import type { Bound } from '../golden.ts';
import { type Scenario, between, commonBounds } from '../scenarios.ts';
import { type MeasuredApp, type MeasuredName, measuredWorkflow, pinnedVersion } from './measured-app.ts';

/** One of each line: 4.x, the betas of spec version 5, and the newest. */
export const devkitVersions = { stable: '4.8.9', pinned: pinnedVersion, newest: '5.0.0-beta.55' } as const;

export const countedSteps = 10;
/** Of the log of that many parallel steps. */
export const maxTogetherUnits = 26;

/** In the 4.x line a step is a message of its own, and so is what follows it. */
const isStable = (version: string): boolean => version.startsWith('4.');

/** Write units of the run's log: its first commit is in the head. Lost puts are not in it. */
export const logUnits = ({ writeUnits }: Bill): number => (writeUnits['head'] ?? 0) + (writeUnits['commits'] ?? 0);

/** Units of a log of steps in sequence: the run's own three, and those of each step. */
export const expectedLogUnits = (version: string, steps: number): number => (isStable(version) ? 3 : 2) * steps + 3;

/** A start reads its deployment twice, and each thread of the code function reads it once. */
const readsOfDeployments = (threadsOfCode: number) => ({ 'readUnits.deployments': between(2, 2 + threadsOfCode) });

/** Which thread takes a message decides what it reads, and so does the time between two messages. */
const reads = (maxDeliveries: number, maxCommits: number) => ({
  ...readsOfDeployments(threads),
  'readUnits.commits': between(1, maxCommits),
  'readUnits.snapshots': between(0, maxDeliveries),
});

const messages = (atLeast: number, atMost: number) =>
  Object.fromEntries(
    ['invocations.code', ...['send', 'receive', 'delete'].map((verb) => `queueRequests.${verb} code queue`)].map((path) => [
      path,
      between(atLeast, atMost),
    ]),
  );

/** The first commit of a run is in its head. Requests that come at once to one function share commits: how many depends on the time. */
const commitsTogether = between(countedSteps, maxTogetherUnits - 1);

/**
 * Parallel steps run in several functions, which lose puts to each other and decide again. A function that finds the run ended before the first one has shown it in the run's projection does the work after the end again.
 */
const parallelBounds = {
  ...commonBounds,
  ...reads(40, 240),
  'readUnits.head': between(0, 40),
  ...messages(4, 50),
  'writeUnits.commits': commitsTogether,
  'commits.won': commitsTogether,
  'writeUnits.lost puts': between(0, 120),
  'writeUnits.deployments': between(2, 2 + threads),
  'writeUnits.end': between(1, 1 + threads),
} as const satisfies Readonly<Record<string, Bound>>;

/** Version 5 executes so many steps where it replays the run. Another function that replays it meanwhile sends a check of each. */
const inlineSteps = 3;

export const scenarioName = (version: string, name: MeasuredName): string => `devkit-${version}-${name}`;

/** The bills of one version. */
export const scenariosOf = (app: MeasuredApp): readonly Scenario[] => [
  {
    name: scenarioName(app.version, 'sequence'),
    workflow: measuredWorkflow(app, 'sequence', countedSteps),
    ends: 'completed',
    // A thread that has the run reads only what it has not seen: a unit a message.
    bounds: isStable(app.version)
      ? { ...commonBounds, ...reads(2 * countedSteps + 1, 2 * (2 * countedSteps + 1)) }
      : { ...commonBounds, ...readsOfDeployments(1) },
  },
  {
    name: scenarioName(app.version, 'together'),
    workflow: measuredWorkflow(app, 'together', countedSteps),
    ends: 'completed',
    bounds: isStable(app.version)
      ? parallelBounds
      : { ...parallelBounds, 'queueRequests.send delay queue': between(0, inlineSteps) },
  },
];
