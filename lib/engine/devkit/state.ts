/** What the fold knows of a run of the Workflow DevKit: steps, hooks, waits and attributes, as its World API shows them. */
import type { CommitNo, EventId } from '../ids.ts';
import type { Payload } from '../json.ts';
import { LayeredMap } from '../log/layered-map.ts';
import type { Instant } from '../time.ts';
import type { DevKitEventName } from './events.ts';

export interface DevKitStep {
  readonly stepId: string;
  readonly stepName: string;
  readonly status: 'pending' | 'running' | 'completed' | 'failed';
  /** 0 before the first start */
  readonly attempt: number;
  readonly specVersion: number;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly startedAt?: Instant;
  readonly completedAt?: Instant;
  readonly retryAfter?: Instant;
  /** only while the step is open; the log has it too */
  readonly input?: Payload;
  readonly createdIn: CommitNo;
  /** the commit with the result, or with the last error */
  readonly outcomeIn?: CommitNo;
}

export interface DevKitHook {
  readonly hookId: string;
  readonly token: string;
  readonly specVersion: number;
  readonly createdAt: Instant;
  readonly isWebhook: boolean;
  readonly isSystem: boolean;
  readonly metadata?: Payload;
  readonly isDisposed?: true;
}

export interface DevKitWait {
  readonly correlationId: string;
  readonly status: 'waiting' | 'completed';
  readonly specVersion: number;
  readonly resumeAt?: Instant;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly completedAt?: Instant;
}

/** A resumption of a hook that carried an id. */
export interface DevKitResumption {
  readonly resumeId: string;
  readonly hookId: string;
  readonly eventId: EventId;
  readonly digest?: string;
}

/** The scalar part, as a snapshot stores it. */
export interface DevKitRunFacts {
  readonly specVersion: number;
  readonly startedAt?: Instant;
  readonly updatedAt: Instant;
  readonly attributes: Readonly<Record<string, string>>;
  /** the deadline of a run that never waits */
  readonly deadlineAt: Instant;
  readonly lastEvent: { readonly event: DevKitEventName; readonly at: Instant };
  /** of a failed run */
  readonly error?: Payload;
  readonly errorCode?: string;
  /** the event that ended the run */
  readonly endedBy?: EventId;
}

export interface DevKitState {
  run: DevKitRunFacts;
  readonly steps: LayeredMap<string, DevKitStep>;
  readonly hooks: LayeredMap<string, DevKitHook>;
  readonly waits: LayeredMap<string, DevKitWait>;
  /** ids of hooks whose token another hook had, with the event that says so */
  readonly refusedHooks: LayeredMap<string, EventId>;
  readonly resumptions: LayeredMap<string, DevKitResumption>;
  /** correlation ids of attribute writes of the workflow */
  readonly attributeWrites: LayeredMap<string, true>;
}

export const newDevKitState = (run: DevKitRunFacts): DevKitState => ({
  run,
  steps: new LayeredMap(),
  hooks: new LayeredMap(),
  waits: new LayeredMap(),
  refusedHooks: new LayeredMap(),
  resumptions: new LayeredMap(),
  attributeWrites: new LayeredMap(),
});

export const forkDevKit = (state: DevKitState): DevKitState => ({
  run: state.run,
  steps: state.steps.fork(),
  hooks: state.hooks.fork(),
  waits: state.waits.fork(),
  refusedHooks: state.refusedHooks.fork(),
  resumptions: state.resumptions.fork(),
  attributeWrites: state.attributeWrites.fork(),
});

interface RefusedHook {
  readonly hookId: string;
  readonly eventId: EventId;
}

export interface StoredDevKit extends DevKitRunFacts {
  readonly steps: readonly DevKitStep[];
  readonly hooks: readonly DevKitHook[];
  readonly waits: readonly DevKitWait[];
  readonly refusedHooks: readonly RefusedHook[];
  readonly resumptions: readonly DevKitResumption[];
  readonly attributeWrites: readonly string[];
}

export const storeDevKit = ({
  run,
  steps,
  hooks,
  waits,
  refusedHooks,
  resumptions,
  attributeWrites,
}: DevKitState): StoredDevKit => ({
  ...run,
  steps: valuesOf(steps),
  hooks: valuesOf(hooks),
  waits: valuesOf(waits),
  refusedHooks: [...refusedHooks.entries()].map(([hookId, eventId]) => ({ hookId, eventId })),
  resumptions: valuesOf(resumptions),
  attributeWrites: [...attributeWrites.keys()],
});

export function restoreDevKit(stored: StoredDevKit): DevKitState {
  const { steps, hooks, waits, refusedHooks, resumptions, attributeWrites, ...run } = stored;
  const state = newDevKitState(run);
  for (const step of steps) state.steps.set(step.stepId, step);
  for (const hook of hooks) state.hooks.set(hook.hookId, hook);
  for (const wait of waits) state.waits.set(wait.correlationId, wait);
  for (const { hookId, eventId } of refusedHooks) state.refusedHooks.set(hookId, eventId);
  for (const resumption of resumptions) state.resumptions.set(resumption.resumeId, resumption);
  for (const id of attributeWrites) state.attributeWrites.set(id, true);
  return state;
}

const valuesOf = <Value>(map: LayeredMap<string, Value>): readonly Value[] => [...map.entries()].map(([, value]) => value);

/** The hooks that can be resumed while the run is open. */
export const liveHooks = ({ hooks }: DevKitState): readonly DevKitHook[] =>
  valuesOf(hooks).filter(({ isDisposed }) => isDisposed !== true);
