/**
 * The World on memory for scenarios: an application asks call by call, from functions that share nothing but the store, and the judge of
 * the simulation sees each commit, each answer and each refusal.
 */
import type { WorldRequest } from '../../../lib/engine/devkit/decide.ts';
import { slotId, slotOf } from '../../../lib/engine/devkit/events.ts';
import { type DeploymentId, type RunAddress, type Scope, environment, eventId, projectId } from '../../../lib/engine/ids.ts';
import { inline } from '../../../lib/engine/json.ts';
import type { Commit } from '../../../lib/engine/log/commit.ts';
import { days } from '../../../lib/engine/time.ts';
import { type MemoryPorts, memoryPorts } from '../../../lib/memory/memory-ports.ts';
import type { Deps } from '../../../lib/service/deps.ts';
import { Plans } from '../../../lib/service/commit/plans.ts';
import { createWorldEvent, listEvents } from '../../../lib/service/kinds/devkit/events-of-world.ts';
import type { EventParams } from '../../../lib/service/kinds/devkit/event-result.ts';
import { registerApp } from '../../../lib/service/kinds/devkit/register-app.ts';
import { onRun } from '../../../lib/service/kinds/devkit/world-reads.ts';
import type { World } from '../../../lib/service/kinds/devkit/world.ts';
import { runKinds } from '../../../lib/service/kinds/run-kinds.ts';
import { FoldCache } from '../../../lib/service/run-log/fold-cache.ts';
import { overrideMethods } from '../../service/override-methods.ts';
import { simulatedTypes } from '../random-graph.ts';
import { runInvariant } from '../violation.ts';
import { DevKitChecker } from './devkit-checker.ts';
import type { SeenEvent } from './plan.ts';
import { isRightRefusal } from './refusals.ts';
import { seenIn } from './world-client.ts';

const scope: Scope = { projectId: projectId('default'), environment: environment('scripted') };

/** Called before each put of a commit. It can wait, or throw as a process that crashes there. */
type BeforePut = (run: RunAddress, commit: Commit) => Promise<void>;

export class ScriptedWorld {
  readonly judge = new DevKitChecker(true);
  readonly memory: MemoryPorts;
  readonly deps: Deps;
  beforePut: BeforePut = async () => undefined;
  readonly #app: DeploymentId;

  private constructor(memory: MemoryPorts, app: DeploymentId) {
    this.memory = memory;
    this.#app = app;
    const { log, clock } = memory;
    const judged = (run: RunAddress, commit: Commit): void => this.judge.committed(run, commit, clock.now());
    this.deps = {
      ...memory,
      // A pause takes no time here.
      clock: { now: () => clock.now(), sleep: async () => undefined },
      settings: { retentionMs: days(30), idempotencyMs: days(1), requiresHttps: false },
      log: overrideMethods(log, {
        create: async (run) => {
          const created = await log.create(run);
          if (created.kind === 'stored') judged(run.address, run.commit);
          return created;
        },
        put: async (run, commit, expiresAt) => {
          await this.beforePut(run, commit);
          const put = await log.put(run, commit, expiresAt);
          if (put.kind === 'stored') judged(run, commit);
          return put;
        },
      }),
    };
  }

  static async create(): Promise<ScriptedWorld> {
    const memory = memoryPorts({ seed: 7 });
    const registered = await registerApp(memory, scope, { baseUrl: 'https://app.example.com' });
    if (registered.kind === 'refused') throw new Error(registered.message);
    return new ScriptedWorld(memory, registered.value.deploymentId);
  }

  /** A function of its own, which caches folds. */
  caller(): World {
    return { deps: this.deps, kinds: runKinds, by: 'world', plans: new Plans(simulatedTypes), foldCache: new FoldCache() };
  }

  /** A run that has started. The messages of its start are lost. */
  async start(by: World): Promise<RunAddress> {
    const run = { ...scope, runId: this.deps.ids.runId(this.deps.clock.now()) };
    const data = { workflowName: 'workflow//./workflows/order//processOrder', deploymentId: this.#app };
    await this.ask(by, run, { event: 'run_created', data, payload: inline('input') });
    await this.ask(by, run, { event: 'run_started' });
    return run;
  }

  /** @returns the type of the recorded event, or the code of the refusal */
  async ask(by: World, run: RunAddress, request: WorldRequest, params: EventParams = {}): Promise<string> {
    const before = [...this.judge.eventsOf(run.runId)];
    const result = await createWorldEvent(by, { run, request, params });
    const name = `${request.event} of ${request.correlationId} in ${run.runId}`;
    if (result.kind === 'refused') {
      const isRight = isRightRefusal(result, request, before, this.judge.eventsOf(run.runId));
      runInvariant(9, isRight, `${name} was refused: ${result.code}, ${result.message}`);
      return result.code;
    }
    const { event, events } = result.value;
    const [seen] = seenIn(event === undefined ? [] : [event]);
    if (seen !== undefined) this.judge.pageRead(run.runId, seen.slot - 1, [seen]);
    const since = slotOf(params.sinceCursor ?? '');
    if (events !== undefined && since !== undefined) this.#mustReachTheEnd(run, since, seenIn(events));
    return seen?.event ?? 'no event';
  }

  /** Reads all events after a position, as the application does before it replays. */
  async read(by: World, run: RunAddress, position = 0): Promise<void> {
    const pagination = position === 0 ? {} : { cursor: slotId(eventId(position)) };
    const result = await onRun(by, run, run.runId, (fold) => listEvents(by.deps, fold, pagination, 'all'));
    if (result.kind === 'refused') throw new Error(result.message);
    this.#mustReachTheEnd(run, position, seenIn(result.value.data));
  }

  #mustReachTheEnd({ runId }: RunAddress, position: number, page: readonly SeenEvent[]): void {
    this.judge.pageRead(runId, position, page);
    const last = this.judge.eventsOf(runId).length;
    runInvariant(8, position + page.length === last, `of ${runId} ${position + page.length} of ${last} events were read`);
  }
}
