/**
 * The clients of a simulation. They publish workflows, start runs, send signals, list runs, and publish and deploy new
 * versions while runs are open.
 */
import { defaultApp, type Manifest, pointerAfter } from '../../lib/ports/deployments.ts';
import type { WorkflowOptions, WorkflowVersion } from '../../lib/engine/graph/definition.ts';
import { type Scope, deploymentId, environment, projectId } from '../../lib/engine/ids.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { programPath } from '../../lib/ports/programs.ts';
import type { Checker } from './checker.ts';
import type { Functions } from './functions.ts';
import { ListClients } from './list-clients.ts';
import type { SimulationContext } from './process.ts';
import { type LongWaits, withLongCodeWaits, withLongGraphWaits } from './long-waits.ts';
import { type CodeWorkflow, leafCode, randomCode, randomCodeChain } from './random-code.ts';
import { randomChain, randomShortChain } from './random-chain.ts';
import { longRunningVersions, leafVersion, randomVersion } from './random-graph.ts';
import { SignalClients } from './signal-clients.ts';
import type { SignalChecker } from './signal-checker.ts';
import { StartClients } from './start-clients.ts';
import type { NotificationChecker } from './notification-checker.ts';
import { simulationStart } from './simulated-ports.ts';

export interface ClientOptions {
  readonly runs: number;
  readonly isShared: boolean;
  readonly limits: WorkflowOptions;
  readonly isBrisk: boolean;
  /** the share of workflows that are code */
  readonly code: number;
  /** code workflows to run instead of random ones */
  readonly codes: readonly CodeWorkflow[];
  /** makes some waits of a random workflow long */
  readonly long: LongWaits | undefined;
  /** the share of starts that wait for their runs */
  readonly awaited: number;
  /** starts are sent in batches, one for each environment */
  readonly areBatched: boolean;
  /** the share of idempotent nodes; above 0, most graphs are chains, and short ones if it is 1 */
  readonly idempotent: number;
}

/** Two environments with equal names of workflows, keys and signals: they must not affect each other. */
const scopes: readonly Scope[] = ['simulated', 'beside'].map((name) => ({
  projectId: projectId('default'),
  environment: environment(name),
}));
const [home] = scopes;

/** The stores to which workflows are published. */
type Stores = Pick<Deps, 'workflows' | 'deployments'>;

export class Clients {
  readonly #around: SimulationContext;
  readonly #stores: Stores;
  readonly #functions: Functions;
  readonly #checker: Checker;
  readonly #options: ClientOptions;
  readonly #starters: StartClients;
  readonly #senders: SignalClients;
  readonly #lookers: ListClients;
  #deployments = 0;

  constructor(
    around: SimulationContext,
    stores: Stores,
    functions: Functions,
    watches: { readonly checker: Checker; readonly signals: SignalChecker; readonly words: NotificationChecker },
    options: ClientOptions,
  ) {
    this.#around = around;
    this.#stores = stores;
    this.#functions = functions;
    this.#checker = watches.checker;
    this.#options = options;
    const parts = { around, functions, ...watches, isQuiet: () => this.isQuiet };
    this.#starters = new StartClients(parts, options.runs, options.awaited);
    this.#senders = new SignalClients(parts);
    this.#lookers = new ListClients(parts);
  }

  get waiting(): number {
    return this.#starters.waiting;
  }

  get woken(): number {
    return this.#starters.woken;
  }

  get sent(): number {
    return this.#senders.sent;
  }

  get isQuiet(): boolean {
    return this.waiting === 0 && this.#checker.isQuiet;
  }

  /** Called when a run begins. */
  runBegan(): void {
    this.#senders.resume();
  }

  /** A client has cancelled it, or it is a child run, which its parent may have cancelled. */
  mayBeCancelled(runId: string): boolean {
    return this.#starters.isCancelled(runId) || !this.#checker.acknowledged.has(runId);
  }

  /** Publishes the workflows and starts the clients. */
  async begin(): Promise<void> {
    const { prng, time } = this.#around;
    const { runs, isShared, limits, isBrisk, code, codes: fixed, long, idempotent } = this.#options;
    // Several runs whose results arrive together: only those share a batch.
    const isCrowd = fixed.length === 0 && code < 1 && prng.isLucky(0.04);
    let shared: WorkflowVersion | CodeWorkflow | undefined = isCrowd
      ? { ...randomVersion(prng, 'flow', isBrisk, true), options: limits }
      : undefined;
    const randomGraph = (name: string): WorkflowVersion =>
      idempotent === 1 && prng.isLucky(0.8)
        ? randomShortChain(prng, name)
        : idempotent > 0 && prng.isLucky(0.8)
          ? randomChain(prng, name, idempotent)
          : randomVersion(prng, name, isBrisk);
    const randomProgram = (name: string): CodeWorkflow =>
      idempotent > 0 && prng.isLucky(0.8) ? randomCodeChain(prng, name, idempotent) : randomCode(prng, name, { isBrisk });
    const drawn = (index: number): WorkflowVersion | CodeWorkflow => {
      const given = fixed[index % fixed.length];
      if (given !== undefined) return { ...given, name: `code-${index}` };
      const isCode = prng.isLucky(code);
      const workflow = isCode ? randomProgram(`code-${index}`) : { ...randomGraph(`flow-${index}`), options: limits };
      return long === undefined
        ? workflow
        : 'part' in workflow
          ? withLongCodeWaits(workflow, long)
          : withLongGraphWaits(workflow, long);
    };
    const workflows = Array.from({ length: runs }, (_, index) => {
      const workflow = shared ?? drawn(index);
      // If the runs have several workflows, two consecutive runs sometimes share one.
      shared = isShared || isCrowd || (shared === undefined && prng.isLucky(0.2)) ? workflow : undefined;
      return workflow;
    });
    // Child runs have their own budget and are checked like all runs.
    const { budget } = limits;
    const lasting = longRunningVersions.map((version) => ({ ...version, options: budget === undefined ? {} : { budget } }));
    for (const scope of scopes) {
      for (const workflow of new Set([leafVersion, ...lasting, ...workflows])) {
        if (isCode(workflow)) continue;
        await this.#stores.workflows.putVersion(scope, workflow, simulationStart);
        await this.#stores.workflows.advance(scope, workflow, simulationStart);
      }
    }
    // All runs of one workflow have the same code.
    const codes = [...new Set(workflows.filter(isCode))];
    await this.#deploy(codes);
    this.#starters.begin(!isBrisk && fixed.length === 0 && !isShared);
    this.#startRuns(workflows);
    // Later deployments have other code under the same names: each run must end on the deployment that it started on.
    for (let count = codes.length > 0 ? prng.whole(0, 2) : 0; count > 0; count -= 1) {
      time.in(prng.whole(10_000, 1_800_000), () => {
        const others = codes.map(({ name }) => randomCode(prng, name, { isBrisk }));
        this.#deploy(others).catch((thrown: unknown) => this.#functions.problems.push(thrown));
      });
    }
    const anew = [...new Set(workflows)].flatMap((workflow) =>
      isCode(workflow) || !prng.isLucky(0.5) ? [] : [{ ...randomGraph(workflow.name), version: 2, options: limits }],
    );
    for (const version of anew) time.in(prng.whole(0, 40_000), () => this.#publish(version));
    if ([...workflows, ...anew].some(awaitsSignals)) this.#senders.begin(scopes);
    this.#lookers.listRuns(scopes);
  }

  #startRuns(workflows: readonly (WorkflowVersion | CodeWorkflow)[]): void {
    if (!this.#options.areBatched) {
      for (const [index, workflow] of workflows.entries()) this.#starters.start(index, this.#anyScope(), workflow.name);
      return;
    }
    const starts = workflows.map(({ name }, number) => ({ number, workflow: name, scope: this.#anyScope() }));
    for (const [scope, ofScope] of Map.groupBy(starts, (start) => start.scope)) this.#starters.startTogether(scope, ofScope);
  }

  /** Not for the run limit: runs of another environment have their own concurrency slots. */
  #anyScope(): Scope {
    const scope = this.#options.isShared || home === undefined ? home : this.#around.prng.pick([home, ...scopes]);
    if (scope === undefined) throw new Error('the list of scopes is empty');
    return scope;
  }

  /** Publishes another graph under the same name: each open run must end on its version. */
  #publish(version: WorkflowVersion): void {
    const { now } = this.#around.time;
    for (const scope of scopes) {
      void this.#stores.workflows.putVersion(scope, version, now);
      void this.#stores.workflows.advance(scope, version, now);
    }
  }

  async #deploy(codes: readonly CodeWorkflow[]): Promise<void> {
    this.#deployments += 1;
    const id = deploymentId(`code-${this.#deployments}`);
    const all = [leafCode, ...codes];
    this.#functions.deployed.set(id, all);
    const at = this.#around.time.now;
    for (const scope of scopes) {
      const { deployments } = this.#stores;
      const manifest: Manifest = {
        deploymentId: id,
        specVersion: 1,
        app: defaultApp,
        runtime: 'code',
        workflows: all.map(({ name }) => ({ name })),
        steps: [],
        files: [{ path: programPath, sha256: '0'.repeat(64), bytes: 1 }],
        artifact: { sha256: '0'.repeat(64), bytes: 1 },
      };
      await deployments.create(scope, { manifest, createdAt: at, createdBy: null, verifiedAt: at });
      const moved = pointerAfter(await deployments.pointer(scope), manifest, { deploymentId: id, at, by: null });
      await deployments.movePointer(scope, moved.revision - 1, moved);
    }
  }
}

const isCode = (workflow: WorkflowVersion | CodeWorkflow): workflow is CodeWorkflow => 'part' in workflow;

const awaitsSignals = (workflow: WorkflowVersion | CodeWorkflow): boolean =>
  isCode(workflow) || workflow.nodes.some(({ type }) => type === 'wait');
