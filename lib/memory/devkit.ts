/** Tokens, streams and registered applications of the Workflow DevKit in memory. Every call is atomic. */
import type { DeploymentId, RunAddress, RunId, Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type {
  DevKitPorts,
  DevKitStreams,
  HookTokens,
  RegisteredApp,
  RegisteredApps,
  StreamFlush,
  StreamName,
  TokenClaim,
} from '../ports/devkit.ts';
import { frozenCopy } from './frozen-copy.ts';
import { runName, scopeName } from './runs.ts';

const nameIn = (scope: Scope, name: string): string => `${scopeName(scope)}#${name}`;

class MemoryHookTokens implements HookTokens {
  readonly #claims = new Map<string, TokenClaim>();
  readonly #hooks = new Map<string, RunId>();

  async claim(scope: Scope, token: string, claim: TokenClaim, _expiresAt: Instant): Promise<TokenClaim> {
    const existing = this.#claims.get(nameIn(scope, token));
    if (existing !== undefined) return existing;
    this.#claims.set(nameIn(scope, token), frozenCopy(claim));
    return claim;
  }

  async replace(scope: Scope, token: string, from: TokenClaim, to: TokenClaim, _expiresAt: Instant): Promise<boolean> {
    if (this.#claims.get(nameIn(scope, token))?.nonce !== from.nonce) return false;
    this.#claims.set(nameIn(scope, token), frozenCopy(to));
    return true;
  }

  async releaseOf(run: RunAddress, token: string, hookId: string): Promise<void> {
    const claim = this.#claims.get(nameIn(run, token));
    if (claim?.runId === run.runId && claim.hookId === hookId) this.#claims.delete(nameIn(run, token));
  }

  async find(scope: Scope, token: string): Promise<TokenClaim | undefined> {
    return this.#claims.get(nameIn(scope, token));
  }

  async nameHook(run: RunAddress, hookId: string, _expiresAt: Instant): Promise<void> {
    this.#hooks.set(nameIn(run, hookId), run.runId);
  }

  async runOfHook(scope: Scope, hookId: string): Promise<RunId | undefined> {
    return this.#hooks.get(nameIn(scope, hookId));
  }
}

const streamName = ({ runId, name, ...scope }: StreamName): string =>
  runId === undefined ? nameIn(scope, name) : `${runName({ ...scope, runId })}#${name}`;

class MemoryDevKitStreams implements DevKitStreams {
  readonly #flushes = new Map<string, StreamFlush[]>();
  readonly #names = new Map<string, Set<string>>();
  readonly #runs = new Map<string, RunId>();

  async append(stream: StreamName, flush: StreamFlush, _expiresAt: Instant): Promise<boolean> {
    const written = this.#flushes.get(streamName(stream)) ?? [];
    if (written.some(({ first }) => first === flush.first)) return false;
    this.#flushes.set(
      streamName(stream),
      [...written, frozenCopy(flush)].toSorted((one, other) => one.first - other.first),
    );
    return true;
  }

  async flushes(stream: StreamName, from: number, limit: number): Promise<readonly StreamFlush[]> {
    const written = this.#flushes.get(streamName(stream)) ?? [];
    const start = written.findLastIndex(({ first }) => first <= from);
    return written.slice(Math.max(start, 0), Math.max(start, 0) + limit);
  }

  async last(stream: StreamName): Promise<StreamFlush | undefined> {
    return this.#flushes.get(streamName(stream))?.at(-1);
  }

  async nameStream(run: RunAddress, name: string, _expiresAt: Instant): Promise<void> {
    const names = this.#names.get(runName(run)) ?? new Set();
    this.#names.set(runName(run), names.add(name));
    this.#runs.set(nameIn(run, name), run.runId);
  }

  async namesOf(run: RunAddress): Promise<readonly string[]> {
    return [...(this.#names.get(runName(run)) ?? [])].toSorted();
  }

  async runOf(scope: Scope, name: string): Promise<RunId | undefined> {
    return this.#runs.get(nameIn(scope, name));
  }
}

class MemoryRegisteredApps implements RegisteredApps {
  readonly #apps = new Map<string, RegisteredApp>();

  async register(scope: Scope, app: RegisteredApp, _expiresAt: Instant): Promise<RegisteredApp> {
    const name = nameIn(scope, app.deploymentId);
    const stored = frozenCopy({ ...app, secret: this.#apps.get(name)?.secret ?? app.secret });
    this.#apps.set(name, stored);
    return stored;
  }

  async app(scope: Scope, id: DeploymentId): Promise<RegisteredApp | undefined> {
    return this.#apps.get(nameIn(scope, id));
  }
}

export const memoryDevKit = (): DevKitPorts => ({
  hookTokens: new MemoryHookTokens(),
  devKitStreams: new MemoryDevKitStreams(),
  registeredApps: new MemoryRegisteredApps(),
});
