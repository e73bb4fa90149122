/**
 * Tokens and streams of the Workflow DevKit in the runs table, registered applications in the control table. A stream is in the
 * partition of its run, so that it is deleted and extended with the run. A name of the application's choice is stored by its digest.
 */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Makers } from '../base/lazy.ts';
import { payload } from '../codec/events.ts';
import { commitNo as storedCommitNo, deploymentId, nonce, runId as storedRunId } from '../codec/ids.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { DeploymentId, Nonce, RunAddress, RunId, Scope } from '../engine/ids.ts';
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
import {
  anyFlag,
  anyInstant,
  anyNumber,
  anyString,
  expiry,
  itemSchema,
  jsonOf,
  keyPart,
  named,
  number,
  numberOf,
  optional,
  stringOf,
  text,
} from './item-schema.ts';
import type { Resources } from './resources.ts';
import { runPartition, scopeKey } from './run-keys.ts';
import { type Expression, type Key, type Table, allOf, firstOf, ifExists, ifNotExists } from './table.ts';

const digest = (name: string): string => createHash('sha256').update(name).digest('base64url');
type Names = 'token' | 'hook' | 'stream';
const namePartition = (scope: Scope, kind: Names, name: string): string =>
  partitionOf('devkit-name', scopeKey(scope), kind, digest(name));
const nameKey = (scope: Scope, kind: Names, name: string): Key => ({ pk: namePartition(scope, kind, name), sk: 'name' });

const claimItem = itemSchema('the claim of a token', {
  runId: stringOf(storedRunId),
  hookId: anyString,
  nonce: named('n', stringOf(nonce)),
  commitNo: numberOf(storedCommitNo),
});
const runItem = itemSchema('the run of a name', { runId: stringOf(storedRunId) });

const isClaim = (claim: Nonce): Expression => ({
  expression: '#n = :nonce',
  names: { '#n': 'n' },
  values: { ':nonce': text(claim) },
});

export class DynamoHookTokens implements HookTokens {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async claim(scope: Scope, token: string, claim: TokenClaim, expiresAt: Instant): Promise<TokenClaim> {
    const put = await this.#table.put(nameKey(scope, 'token', token), claimItem.encode(claim, expiresAt), ifNotExists);
    return put.kind === 'stored' ? claim : claimItem.decode(put.existing);
  }

  async replace(scope: Scope, token: string, from: TokenClaim, to: TokenClaim, expiresAt: Instant): Promise<boolean> {
    const key = nameKey(scope, 'token', token);
    // A put whose claim has gone meanwhile finds nothing to replace, and the caller claims again.
    const names = { '#runId': 'runId', '#hookId': 'hookId', '#commitNo': 'commitNo', '#ttl': 'ttl', '#n': 'n' };
    const values = {
      ':runId': text(to.runId),
      ':hookId': text(to.hookId),
      ':commitNo': number(to.commitNo),
      ':ttl': expiry(expiresAt),
      ':next': text(to.nonce),
    };
    const expression = 'SET #runId = :runId, #hookId = :hookId, #commitNo = :commitNo, #ttl = :ttl, #n = :next';
    return (await this.#table.update(key, { expression, names, values }, isClaim(from.nonce))) !== undefined;
  }

  async releaseOf(run: RunAddress, token: string, hookId: string): Promise<void> {
    await this.#table.delete(nameKey(run, 'token', token), {
      expression: '#runId = :runId AND #hookId = :hookId',
      names: { '#runId': 'runId', '#hookId': 'hookId' },
      values: { ':runId': text(run.runId), ':hookId': text(hookId) },
    });
  }

  async find(scope: Scope, token: string): Promise<TokenClaim | undefined> {
    const item = await this.#table.get(nameKey(scope, 'token', token));
    return item && claimItem.decode(item);
  }

  async nameHook(run: RunAddress, hookId: string, expiresAt: Instant): Promise<void> {
    await this.#table.put(nameKey(run, 'hook', hookId), runItem.encode({ runId: run.runId }, expiresAt));
  }

  async runOfHook(scope: Scope, hookId: string): Promise<RunId | undefined> {
    const item = await this.#table.get(nameKey(scope, 'hook', hookId));
    return item && runItem.decode(item).runId;
  }
}

/** Ten digits: more chunks than any stream has. */
const digits = 10;
const chunkPrefix = (name: string): string => `stream#${digest(name)}#`;
const chunkSort = (name: string, index: number): string => `${chunkPrefix(name)}${String(index).padStart(digits, '0')}`;
const lastChunkSort = (name: string): string => `${chunkPrefix(name)}${'9'.repeat(digits)}`;
const streamsPrefix = 'stream-name#';

const streamPartition = ({ runId, name, ...scope }: StreamName): string =>
  runId === undefined ? namePartition(scope, 'stream', name) : runPartition({ ...scope, runId }, 'devkit');

const flushItem = itemSchema('chunks of a stream', {
  first: keyPart(
    'sk',
    z.string().transform((sort) => Number(sort.slice(sort.lastIndexOf('#') + 1))),
  ),
  count: named('c', anyNumber),
  chunks: named('j', jsonOf(payload)),
  isLast: named('l', optional(anyFlag)),
});
const storedFlush = ({ isLast, ...flush }: ReturnType<typeof flushItem.decode>): StreamFlush =>
  isLast === true ? { ...flush, isLast } : flush;
const streamNameItem = itemSchema('the name of a stream', { name: anyString });

export class DynamoDevKitStreams implements DevKitStreams {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async append(stream: StreamName, flush: StreamFlush, expiresAt: Instant): Promise<boolean> {
    const key = { pk: streamPartition(stream), sk: chunkSort(stream.name, flush.first) };
    return (await this.#table.put(key, flushItem.encode(flush, expiresAt), ifNotExists)).kind === 'stored';
  }

  async flushes(stream: StreamName, from: number, limit: number): Promise<readonly StreamFlush[]> {
    const [start] = from === 0 ? [] : await this.#query(stream, { last: from, isDescending: true, limit: 1 });
    return this.#query(stream, { first: start?.first ?? 0, limit });
  }

  async last(stream: StreamName): Promise<StreamFlush | undefined> {
    return (await this.#query(stream, { isDescending: true, limit: 1 }))[0];
  }

  async #query(
    stream: StreamName,
    options: { readonly first?: number; readonly last?: number; readonly isDescending?: true; readonly limit: number },
  ): Promise<readonly StreamFlush[]> {
    const { first = 0, last, isDescending, limit } = options;
    const items = this.#table.query({
      ConsistentRead: true,
      ScanIndexForward: isDescending !== true,
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :first AND :last',
      ExpressionAttributeValues: {
        ':pk': text(streamPartition(stream)),
        ':first': text(chunkSort(stream.name, first)),
        ':last': text(last === undefined ? lastChunkSort(stream.name) : chunkSort(stream.name, last)),
      },
      Limit: limit,
    });
    return (await firstOf(items, limit)).map((item) => storedFlush(flushItem.decode(item)));
  }

  async nameStream(run: RunAddress, name: string, expiresAt: Instant): Promise<void> {
    const key = { pk: runPartition(run, 'devkit'), sk: `${streamsPrefix}${digest(name)}` };
    await Promise.all([
      this.#table.put(key, streamNameItem.encode({ name }, expiresAt)),
      this.#table.put(nameKey(run, 'stream', name), runItem.encode({ runId: run.runId }, expiresAt)),
    ]);
  }

  async namesOf(run: RunAddress): Promise<readonly string[]> {
    const items = this.#table.query({
      ConsistentRead: true,
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :names)',
      ExpressionAttributeValues: { ':pk': text(runPartition(run, 'devkit')), ':names': text(streamsPrefix) },
    });
    return (await allOf(items)).map((item) => streamNameItem.decode(item).name).toSorted();
  }

  async runOf(scope: Scope, name: string): Promise<RunId | undefined> {
    const item = await this.#table.get(nameKey(scope, 'stream', name));
    return item && runItem.decode(item).runId;
  }
}

const appKey = (scope: Scope, id: DeploymentId): Key => ({ pk: partitionOf('devkit-app', scopeKey(scope)), sk: `id#${id}` });
const appItem = itemSchema('a registered application', {
  deploymentId: stringOf(deploymentId),
  baseUrl: anyString,
  secret: anyString,
  registeredAt: anyInstant,
  app: optional(anyString),
  sdk: optional(anyString),
  specVersion: optional(anyNumber),
  queueNamespace: optional(anyString),
});

export class DynamoRegisteredApps implements RegisteredApps {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async register(scope: Scope, app: RegisteredApp, expiresAt: Instant): Promise<RegisteredApp> {
    const key = appKey(scope, app.deploymentId);
    const put = await this.#table.put(key, appItem.encode(app, expiresAt), ifNotExists);
    if (put.kind === 'stored') return app;
    const { secret } = appItem.decode(put.existing);
    const again = { ...app, secret };
    await this.#table.replace(key, appItem.encode(again, expiresAt), ifExists);
    return again;
  }

  async app(scope: Scope, id: DeploymentId): Promise<RegisteredApp | undefined> {
    const item = await this.#table.get(appKey(scope, id));
    return item && appItem.decode(item);
  }
}

export const devKitPorts = (resources: Resources): Makers<DevKitPorts> => ({
  hookTokens: () => new DynamoHookTokens(resources.runs),
  devKitStreams: () => new DynamoDevKitStreams(resources.runs),
  registeredApps: () => new DynamoRegisteredApps(resources.control),
});
