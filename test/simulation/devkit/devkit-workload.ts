/** A workload of runs of the Workflow DevKit: an application, and clients that start, resume and cancel its runs. */
import { seconds } from '../../../lib/engine/time.ts';
import { type DeploymentId, type RunAddress, type Scope, deploymentId, environment, projectId } from '../../../lib/engine/ids.ts';
import { type JsonObject, type JsonValue, inline, isJsonObject } from '../../../lib/engine/json.ts';
import type { AppRequest, AppResponse } from '../../../lib/ports/devkit.ts';
import { createWorldEvent } from '../../../lib/service/kinds/devkit/events-of-world.ts';
import { readChunks } from '../../../lib/service/kinds/devkit/streams.ts';
import { deliverDevKitMessage } from '../../../lib/service/kinds/devkit/deliver-message.ts';
import { registerApp } from '../../../lib/service/kinds/devkit/register-app.ts';
import { KnownDeployments } from '../../../lib/service/deployments/known-deployments.ts';
import { FoldCache } from '../../../lib/service/run-log/fold-cache.ts';
import { runKinds } from '../../../lib/service/kinds/run-kinds.ts';
import { Plans } from '../../../lib/service/commit/plans.ts';
import type { Deps } from '../../../lib/service/deps.ts';
import { simulatedTypes } from '../random-graph.ts';
import type { Invocation } from '../functions.ts';
import { Process } from '../process.ts';
import { sweepEachMinute } from '../sweep-each-minute.ts';
import { runInvariant } from '../violation.ts';
import type { Workload, WorkloadParts } from '../workload.ts';
import { AppInvocation, queueNamespace } from './app.ts';
import { DevKitClients } from './devkit-clients.ts';
import type { DevKitChecker } from './devkit-checker.ts';
import type { Commit } from '../../../lib/engine/log/commit.ts';
import { type Plan, randomHook, randomPlan, tokens } from './plan.ts';
import { type ClientParts, WorldClient } from './world-client.ts';

const scope: Scope = { projectId: projectId('default'), environment: environment('simulated') };

export interface DevKitWorkloadOptions {
  readonly judge: DevKitChecker;
  /** the plans of the runs; absent: drawn */
  readonly plans?: readonly Plan[];
  readonly runs: number;
  /** the longest time for which a run may have something to do and no delivery */
  readonly mostIdleMs: number;
}

/** The time of the application for one message, of which the last part is the platform's. */
const appTimeout = seconds(600);

export class DevKitWorkload implements Workload {
  readonly woken = 0;
  readonly sent = 0;
  readonly isRough = true;
  readonly #parts: WorkloadParts;
  readonly #options: DevKitWorkloadOptions;
  #clients: DevKitClients | undefined;
  #app: DeploymentId | undefined;

  constructor(parts: WorkloadParts, options: DevKitWorkloadOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  get #clock(): Deps['clock'] {
    return { now: () => this.#parts.around.time.now, sleep: async () => undefined };
  }

  get #clientParts(): ClientParts {
    const { around, functions } = this.#parts;
    if (this.#app === undefined) throw new Error('the application is not registered yet');
    return { around, functions, judge: this.#options.judge, app: this.#app };
  }

  get waiting(): number {
    return this.#clients?.waiting ?? 0;
  }

  get isQuiet(): boolean {
    return this.waiting === 0 && this.#parts.checker.isQuiet;
  }

  mayBeCancelled(runId: string): boolean {
    return this.#options.judge.isCancelled(runId);
  }

  async begin(): Promise<void> {
    const { around, world, functions, checker } = this.#parts;
    const { judge, runs } = this.#options;
    const registered = await registerApp({ ...world.memory, clock: this.#clock }, scope, {
      baseUrl: 'https://app.example.com',
      queueNamespace,
    });
    if (registered.kind === 'refused') throw new Error(registered.message);
    this.#app = deploymentId(registered.value.deploymentId);
    functions.deliverDevKit = (invocation, job, delivery) => {
      const notSimulated = (): Promise<never> => Promise.reject(new Error('neither bundles nor webhooks are simulated'));
      const apps = { post: (request: AppRequest) => this.#post(invocation, job.run, request), forward: notSimulated };
      const bundles = { deliver: notSimulated, resumeWebhook: notSimulated };
      return deliverDevKitMessage({ ...invocation, apps, bundles, known: new KnownDeployments() }, job, delivery);
    };
    this.#clients = new DevKitClients({ ...this.#clientParts, checker, scope });
    const { prng } = around;
    const crowd = this.#options.plans === undefined && prng.isLucky(0.3) ? randomHook(prng) : undefined;
    for (let index = 0; index < runs; index += 1) {
      const plan = this.#options.plans?.[index % this.#options.plans.length] ?? randomPlan(prng);
      const planned = crowd === undefined ? plan : { ...plan, stages: [crowd, ...plan.stages] };
      // Runs that begin with the same token at once compete for it.
      this.#clients.start((runId) => judge.plans.set(runId, planned), crowd === undefined ? 600_000 : 300);
    }
    sweepEachMinute(around.time, { world, index: world.deps.index, sweep: () => functions.sweep() });
  }

  committed(run: RunAddress, commit: Commit): void {
    if (this.#options.plans === undefined) this.#clients?.committed(run, commit);
  }

  /** The message reaches the application. Its process may crash at any call, and the sender then hears nothing. */
  #post(invocation: Invocation, run: RunAddress, { headers, body }: AppRequest): Promise<AppResponse> {
    const { around, functions } = this.#parts;
    const { judge } = this.#options;
    const plan = judge.plans.get(run.runId);
    const message: JsonValue = JSON.parse(body);
    if (plan === undefined || !isJsonObject(message)) throw new Error(`no plan for ${run.runId}`);
    const process = plan.isHosted ? invocation.process : new Process(around);
    const client = new WorldClient(this.#clientParts, process, plan.isHosted ? invocation : undefined);
    judge.delivered(run.runId, around.time.now);
    let isOver = false;
    const over = (): void => {
      if (!isOver) judge.deliveryEnded(run.runId, around.time.now);
      isOver = true;
    };
    const dies = process.onDeath;
    process.onDeath = () => (dies(), over());
    const app = new AppInvocation(client, process, run, plan);
    const queueName = headers['x-vqs-queue-name'] ?? '';
    runInvariant(5, queueName.startsWith(`__${queueNamespace}_wkf_`), `a message of ${run.runId} reaches no code: ${queueName}`);
    return new Promise((resolve) => {
      const answer = (response: AppResponse): void => {
        over();
        invocation.process.in(around.prng.whole(0, 5), () => resolve(response));
      };
      invocation.process.in(appTimeout, () => {
        // What runs on a thread of the function ends with it.
        if (plan.isHosted && !isOver) process.die();
        resolve({ kind: 'failed', reason: 'the application did not answer' });
      });
      app.handle({ queueName, body: message }).then(
        (handled) => answer({ kind: 'responded', status: 200, body: bodyOf(handled.timeoutSeconds) }),
        (cause: unknown) => {
          if (!(cause instanceof Error && cause.name === 'NoAnswer')) functions.recordError(cause);
          answer({ kind: 'responded', status: 500, body: null });
        },
      );
    });
  }

  async check(): Promise<void> {
    const { around } = this.#parts;
    const { judge, mostIdleMs } = this.#options;
    judge.check(around.time.now, mostIdleMs);
    await this.#checkTokens();
    for (const name of judge.streams.names) await this.#checkStream(name);
  }

  /** The whole stream, as a reader without faults reads it. */
  async #checkStream(name: string): Promise<void> {
    const { world } = this.#parts;
    const { streams } = this.#options.judge;
    const deps = { ...world.deps, ...world.memory, clock: this.#clock };
    for (let from = 0; ;) {
      const page = await readChunks(deps, { scope, name }, { cursor: String(from) });
      if (page.kind === 'refused') throw new Error(page.message);
      streams.pageRead(name, from, page.value);
      if (page.value.data.length === 0) break;
      from += page.value.data.length;
    }
    streams.check(name);
  }

  /** Each token can be taken after all runs have ended, at once. */
  async #checkTokens(): Promise<void> {
    const { around, world } = this.#parts;
    // No observer sees the run, which does not end.
    const deps = { ...world.deps, ...world.memory, clock: this.#clock };
    const caller = { deps, kinds: runKinds, by: 'world', plans: new Plans(simulatedTypes), foldCache: new FoldCache() };
    const run = { ...scope, runId: deps.ids.runId(around.time.now) };
    const creation = { event: 'run_created', data: this.#creationData(), payload: inline(null) } as const;
    await createWorldEvent(caller, { run, request: creation, params: {} });
    for (const [index, token] of tokens.entries()) {
      const request = { event: 'hook_created', correlationId: `hook_${index}`, data: { token } } as const;
      const created = await createWorldEvent(caller, { run, request, params: {} });
      const type = created.kind === 'answered' ? created.value.event?.['eventType'] : created.code;
      runInvariant(10, type === 'hook_created', `all runs have ended, and no hook can have the token ${token}`);
    }
  }

  #creationData(): JsonObject {
    return { workflowName: 'workflow//./workflows/order//processOrder', deploymentId: this.#app ?? '' };
  }
}

const bodyOf = (timeoutSeconds: number | undefined): JsonObject =>
  timeoutSeconds === undefined ? { ok: true } : { timeoutSeconds };
