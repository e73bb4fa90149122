/**
 * The heads of runs. A head also tells on which side the other items of the run are (`run-keys.ts`). Only platform
 * functions write heads, so platform functions trust them. The code function writes the other items of a code run.
 */
import { LRUCache } from 'lru-cache';
import * as z from 'zod';
import { type RunAddress, secondCommit } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { Commit } from '../engine/log/commit.ts';
import {
  type Head,
  type HeadProjection,
  type RunCreation,
  type Side,
  firstProjection,
  isHeldByHead,
  sideOfKind,
} from '../engine/log/head.ts';
import type { Instant } from '../engine/time.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { isTombstoneItem } from './all-run-items.ts';
import { headAttributes, headIn, projectionPart, secondCommitUpdate } from './head-item.ts';
import { type Item, anyFlag, anyInstant, stringOf, optional, named, partSchema } from './item-schema.ts';
import { holdsSecondCommitName, ifSecondCommitIsFree, secondCommitIn } from './run-items.ts';
import { headKey, projectionKey, runPartition } from './run-keys.ts';
import { type Put, type Table, ifNotExists, maxKeysPerBatch } from './table.ts';

export interface KnownRun {
  readonly side: Side;
  /** undefined: the run was deleted */
  readonly lifetime: { readonly createdAt: Instant; readonly expiresAt: Instant } | undefined;
  /** commit 2 is a part of the head */
  readonly holdsSecondCommit: boolean;
}

export interface RunHeads {
  create(run: RunCreation, projection?: HeadProjection): Promise<Put>;
  /** Caches the facts of a run that exists. */
  recognize(run: RunCreation): void;
  guess(run: RunAddress, side: Side): void;
  /** The side of a known run, or the guessed one. Most runs are graph runs. */
  probableSide(run: RunAddress): Side;
  head(run: RunAddress): Promise<Head | undefined>;
  heads(runs: readonly RunAddress[]): Promise<readonly (Head | undefined)[]>;
  /** Commit 2 of a run whose head holds it; undefined if the number is free. A deleted run has a tombstone. */
  secondCommit(run: RunAddress): Promise<Commit | undefined>;
  /**
   * Adds commit 2 to the head.
   * @param ended what the head shows from then on; absent: the projection stays
   * @throws Unavailable if the head has expired, or does not hold the commit
   */
  putSecondCommit(run: RunAddress, commit: Commit, ended?: HeadProjection): Promise<Put>;
  /** The cached facts of the run, without a request. */
  known(run: RunAddress): KnownRun | undefined;
  /** The same, read from the table if it is not cached; undefined if the run does not exist. */
  load(run: RunAddress): Promise<KnownRun | undefined>;
}

const knownRunOf = (run: RunCreation): KnownRun => ({
  side: sideOfKind[run.kind],
  lifetime: { createdAt: run.createdAt, expiresAt: run.expiresAt },
  holdsSecondCommit: isHeldByHead(run, { number: secondCommit }),
});

/** With so many runs, heads and projections are one batch of DynamoDB (`table.ts`). */
const maxGuesses = maxKeysPerBatch / 2;

/** About 200 bytes each. */
const maxKnownRuns = 10_000;

class KnownRuns {
  readonly #runs = new LRUCache<string, KnownRun>({ max: maxKnownRuns });
  readonly guessed = new LRUCache<string, Side>({ max: maxKnownRuns });

  get(run: RunAddress): KnownRun | undefined {
    return this.#runs.get(runPartition(run));
  }

  remember(run: RunAddress, known: KnownRun): KnownRun {
    this.#runs.set(runPartition(run), known);
    return known;
  }
}

/** Heads from the table, for platform functions. */
export class StoredHeads implements RunHeads {
  readonly #table: Table;
  readonly #known = new KnownRuns();
  /** Reads of this turn of the event loop: one request reads several parts of a run at once. A later call may need a newer item. */
  readonly #readsOfThisTurn = new Map<string, Promise<Item | undefined>>();

  constructor(table: Table) {
    this.#table = table;
  }

  async create(run: RunCreation, projection: HeadProjection = firstProjection): Promise<Put> {
    const isApart = sideOfKind[run.kind] !== 'platform';
    invariant(!isApart || projection === firstProjection, `the projection of a ${run.kind} run is apart from its head`);
    const put = await this.#table.put(headKey(run.address), headAttributes(run, projection), ifNotExists);
    if (put.kind === 'refused') this.#remember(run.address, put.existing);
    else this.recognize(run);
    return put;
  }

  recognize(run: RunCreation): void {
    this.#known.remember(run.address, knownRunOf(run));
  }

  guess(run: RunAddress, side: Side): void {
    this.#known.guessed.set(runPartition(run), side);
  }

  probableSide(run: RunAddress): Side {
    return this.known(run)?.side ?? this.#known.guessed.get(runPartition(run)) ?? 'platform';
  }

  async head(run: RunAddress): Promise<Head | undefined> {
    const probable = this.probableSide(run);
    const [item, early] = await Promise.all([this.#item(run), this.#projection(run, probable)]);
    const side = item === undefined ? probable : this.#remember(run, item).side;
    return headOf(item, side === probable ? early : await this.#projection(run, side));
  }

  /** The projection of a run that has it apart from its head. */
  async #projection(run: RunAddress, side: Side): Promise<Item | undefined> {
    return side === 'platform' ? undefined : this.#table.get(projectionKey(run, side));
  }

  /**
   * One request for up to 50 runs: a projection that a code run would have is read with the head, unless the kind of the run is known or
   * guessed.
   */
  async heads(runs: readonly RunAddress[]): Promise<readonly (Head | undefined)[]> {
    const guessed = runs.length > maxGuesses ? [] : runs.filter((run) => this.#mayBeCode(run));
    const items = await this.#table.getAll([...runs.map(headKey), ...guessed.map((run) => projectionKey(run, 'code'))]);
    const projections = new Map(guessed.map((run, index) => [runPartition(run), items[runs.length + index]]));
    const sides = runs.map((run, index) => {
      const item = items[index];
      return item === undefined ? 'platform' : this.#remember(run, item).side;
    });
    const missing = runs.flatMap((run, index) => {
      const side = sides[index];
      const isKnown = side === undefined || side === 'platform' || (side === 'code' && projections.has(runPartition(run)));
      return isKnown ? [] : [{ run, side }];
    });
    const found = missing.length === 0 ? [] : await this.#table.getAll(missing.map(({ run, side }) => projectionKey(run, side)));
    for (const [index, { run }] of missing.entries()) projections.set(runPartition(run), found[index]);
    return runs.map((run, index) =>
      headOf(items[index], sides[index] === 'platform' ? undefined : projections.get(runPartition(run))),
    );
  }

  #mayBeCode(run: RunAddress): boolean {
    return (this.known(run)?.side ?? this.#known.guessed.get(runPartition(run)) ?? 'code') === 'code';
  }

  async secondCommit(run: RunAddress): Promise<Commit | undefined> {
    const item = await this.#item(run);
    return item && secondCommitIn(item);
  }

  async putSecondCommit(run: RunAddress, commit: Commit, ended?: HeadProjection): Promise<Put> {
    const update = secondCommitUpdate(run, commit, ended);
    const put = await this.#table.updateOrExisting(headKey(run), update, ifSecondCommitIsFree);
    if (put === undefined) throw new Unavailable(`the head of ${run.runId}, which has expired`);
    // The place of the commit is what the stored head says, and not what this process knew.
    if (put.kind === 'refused' && !this.#remember(run, put.existing).holdsSecondCommit && !isTombstoneItem(put.existing))
      throw new Unavailable(`the place of commit ${commit.number} of ${run.runId}`);
    return put;
  }

  known(run: RunAddress): KnownRun | undefined {
    return this.#known.get(run);
  }

  async load(run: RunAddress): Promise<KnownRun | undefined> {
    const known = this.known(run);
    if (known !== undefined) return known;
    const item = await this.#item(run);
    return item && this.#remember(run, item);
  }

  #item(run: RunAddress): Promise<Item | undefined> {
    const name = runPartition(run);
    const pending = this.#readsOfThisTurn.get(name);
    if (pending !== undefined) return pending;
    const request = this.#table.get(headKey(run));
    this.#readsOfThisTurn.set(name, request);
    queueMicrotask(() => this.#readsOfThisTurn.delete(name));
    return request;
  }

  #remember(run: RunAddress, item: Item): KnownRun {
    const { kind, createdAt, expiresAt, holdsSecondCommit = false } = headSummary.decode(item);
    const isDeleted = isTombstoneItem(item) || createdAt === undefined || expiresAt === undefined;
    const lifetime = isDeleted ? undefined : { createdAt, expiresAt };
    return this.#known.remember(run, { side: sideOfKind[kind], lifetime, holdsSecondCommit });
  }
}

const headSummary = partSchema('a head', {
  kind: named('k', stringOf(z.enum(['graph', 'bundle', 'code', 'devkit']))),
  createdAt: named('ca', optional(anyInstant)),
  expiresAt: named('x', optional(anyInstant)),
  holdsSecondCommit: named(holdsSecondCommitName, optional(anyFlag)),
});

const headOf = (item: Item | undefined, projection: Item | undefined): Head | undefined => {
  if (item === undefined || isTombstoneItem(item)) return undefined;
  const head = headIn(item);
  return projection === undefined ? head : { ...head, projection: projectionPart.decode(projection) };
};

/**
 * Heads from messages, for the code function, which cannot read heads from the table. Only the code function trusts them.
 */
export class MessageHeads implements RunHeads {
  readonly #heads = new LRUCache<string, Head>({ max: maxMessageHeads });

  recognize(creation: RunCreation): void {
    invariant(sideOfKind[creation.kind] !== 'platform', `${creation.address.runId} is not a run of deployed code`);
    this.#heads.set(runPartition(creation.address), { ...creation, projection: firstProjection });
  }

  /** Without a head nothing of a run is read here. */
  guess(): void {}

  probableSide(run: RunAddress): Side {
    return this.known(run).side;
  }

  create({ address }: RunCreation): Promise<Put> {
    throw new TypeError(`cannot create ${address.runId} here: only platform functions create runs`);
  }

  async head(run: RunAddress): Promise<Head | undefined> {
    return this.#heads.get(runPartition(run));
  }

  async heads(runs: readonly RunAddress[]): Promise<readonly (Head | undefined)[]> {
    return Promise.all(runs.map((run) => this.head(run)));
  }

  /** Only heads of graph runs hold a second commit. */
  async secondCommit(): Promise<undefined> {}

  putSecondCommit({ runId }: RunAddress): Promise<Put> {
    throw new TypeError(`cannot update the head of ${runId} here: only platform functions write heads`);
  }

  known(run: RunAddress): KnownRun {
    const head = this.#heads.get(runPartition(run));
    return head === undefined ? { side: 'code', lifetime: undefined, holdsSecondCommit: false } : knownRunOf(head);
  }

  async load(run: RunAddress): Promise<KnownRun> {
    return this.known(run);
  }
}

/** A worker process handles some hundred messages at once; a head has 1 to 100 KB. */
const maxMessageHeads = 1_000;
