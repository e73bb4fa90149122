/**
 * Reads the tables through DynamoDB's API, without code of the service. Only the item formats are from
 * `lib/codec`, because they are the contract under test.
 */
import * as z from 'zod';
import { runEvent } from '../../../lib/codec/events.ts';
import * as schema from '../../../lib/codec/ids.ts';
import { type Packed, unpack } from '../../../lib/codec/packed.ts';
import { runsTableKeys } from '../../../lib/contract/environment.ts';
import type { RunAddress } from '../../../lib/engine/ids.ts';
import type { Commit } from '../../../lib/engine/log/commit.ts';
import { runStatuses } from '../../../lib/engine/log/head.ts';
import { type Signer, askTables } from '../../signed-request.ts';
import type { RunIdentity } from '../../../lib/engine/log/public-event.ts';

/** Calls DynamoDB with the key of the machine's owner. */
export class Tables {
  readonly #signer: Signer;
  #runs: string | undefined;

  constructor(signer: Signer) {
    this.#signer = signer;
  }

  ask(operation: string, input: object): Promise<unknown> {
    return askTables(this.#signer, operation, input);
  }

  /** The name of the table with the run indexes. */
  async runsTable(): Promise<string> {
    if (this.#runs !== undefined) return this.#runs;
    const { TableNames } = z.looseObject({ TableNames: z.array(z.string()) }).parse(await this.ask('ListTables', {}));
    for (const TableName of TableNames) {
      const described = JSON.stringify(await this.ask('DescribeTable', { TableName }));
      if (described.includes(`"${runsTableKeys.byProject.name}"`)) this.#runs = TableName;
    }
    if (this.#runs === undefined) throw new Error('there is no Runs table');
    return this.#runs;
  }

  /** The runs that have not ended, by their heads, and a fingerprint that changes with every write. */
  async standing(): Promise<{ readonly open: readonly string[]; readonly mark: string }> {
    const items = await this.scan({
      ConsistentRead: true,
      ProjectionExpression: 'pk, sk, #status, asOf',
      ExpressionAttributeNames: { '#status': 'status' },
    });
    const all = items.flatMap((item) => standingShape.safeParse(item).data ?? []);
    // A code run's view beside its log is newer than its head.
    const later = all.filter(({ pk }) => pk.startsWith('code#')).map(({ pk, ...of }) => ({ ...of, pk: headOf(pk) }));
    const heads = [...new Map([...all.filter(({ pk }) => pk.startsWith('run#')), ...later].map((one) => [one.pk, one])).values()];
    return {
      open: heads.filter(({ status }) => status === 'pending' || status === 'running').map(({ pk }) => addressOf(pk).runId),
      mark: `${items.length} ${heads.reduce((sum, { asOf }) => sum + asOf, 0)}`,
    };
  }

  /** Every item, or every entry of an index. */
  async scan(where: object): Promise<readonly RawItem[]> {
    const items: RawItem[] = [];
    const TableName = await this.runsTable();
    let from: unknown;
    do {
      const page = pageShape.parse(
        await this.ask('Scan', { TableName, ...where, ...(from === undefined ? {} : { ExclusiveStartKey: from }) }),
      );
      items.push(...page.Items);
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
    return items;
  }
}

const attribute = z.union([
  z.strictObject({ S: z.string() }),
  z.strictObject({ N: z.string() }),
  z.strictObject({ B: z.string() }),
  z.looseObject({}),
]);
const rawItem = z.record(z.string(), attribute);
export type RawItem = z.output<typeof rawItem>;
const pageShape = z.looseObject({ Items: z.array(rawItem), LastEvaluatedKey: z.unknown().optional() });

const textOf = z.object({ S: z.string() }).transform(({ S }) => S);
const numberOf = z.object({ N: z.string() }).transform(({ N }) => Number(N));
const packedOf = z.union([
  z.object({ S: z.string() }).transform(({ S }): Packed => ({ text: S })),
  z.object({ B: z.string() }).transform(({ B }): Packed => ({ zlib: Buffer.from(B, 'base64') })),
]);
const keyShape = z.object({ pk: textOf, sk: textOf });
const commitShape = z.object({ v: numberOf.pipe(z.literal(1)), e: packedOf, f: numberOf, a: numberOf, b: textOf, n: textOf });
const headShape = commitShape.extend({
  w: textOf,
  k: textOf.pipe(z.enum(['graph', 'bundle', 'code'])),
  ci: textOf.pipe(schema.correlationId).optional(),
  tp: textOf.pipe(schema.traceparent).optional(),
  ca: numberOf,
  status: textOf.pipe(z.enum(runStatuses)),
  asOf: numberOf,
});
const standingShape = keyShape.extend({ status: textOf, asOf: numberOf });
const entryShape = keyShape.extend({
  [runsTableKeys.byProject.sort]: textOf.optional(),
  [runsTableKeys.byState.partition]: textOf.optional(),
});

export interface StoredRun {
  readonly address: RunAddress;
  readonly told: RunIdentity;
  readonly workflowName: string;
  readonly kind: 'graph' | 'bundle' | 'code';
  readonly status: (typeof runStatuses)[number];
  readonly asOf: number;
  /** in key order, with the numbers of the keys, including gaps */
  readonly commits: readonly Commit[];
}

export interface Reading {
  readonly runs: ReadonlyMap<string, StoredRun>;
  /** runs with commits and without a head */
  readonly headless: readonly string[];
  /** the entries of the project index */
  readonly byProject: readonly string[];
  /** the entries of the sparse index as `<state>/<run>` */
  readonly byState: readonly string[];
}

const events = z.array(runEvent).readonly();

const commitOf = (number: number, item: RawItem): Commit => {
  const { e, f, a, b, n } = commitShape.parse(item);
  return {
    number: schema.commitNo.parse(number),
    firstEventId: schema.eventId.parse(f),
    events: events.parse(JSON.parse(unpack('a commit', e))),
    at: schema.instant.parse(a),
    by: b,
    nonce: schema.nonce.parse(n),
  };
};

/** Of a code run only the head has the kind `run`. */
const runPartition = /^(?:run|code)#([^#]+)#([^#]+)#([^#]+)$/;
const logSort = /^log#(\d{8})$/;

/** @returns the whole table and its two indexes, read one after the other */
export async function readTables(tables: Tables): Promise<Reading> {
  const byProject = await tables.scan({ IndexName: runsTableKeys.byProject.name });
  const byState = await tables.scan({ IndexName: runsTableKeys.byState.name });
  return readingOf(await tables.scan({ ConsistentRead: true }), byProject, byState);
}

function readingOf(items: readonly RawItem[], byProject: readonly RawItem[], byState: readonly RawItem[]): Reading {
  const heads = new Map<string, RawItem>();
  const shown = new Map<string, RawItem>();
  const logs = new Map<string, (readonly [number, RawItem])[]>();
  for (const item of items) {
    const { pk, sk } = keyShape.parse(item);
    if (!runPartition.test(pk)) continue;
    if (sk === 'head') (pk.startsWith('run#') ? heads : shown).set(headOf(pk), item);
    const [, number] = logSort.exec(sk) ?? [];
    if (number === undefined) continue;
    const log = logs.get(headOf(pk)) ?? [];
    logs.set(headOf(pk), log);
    log.push([Number(number), item]);
  }
  const runs = new Map<string, StoredRun>();
  for (const [pk, item] of heads) {
    const run = runOf(pk, { ...item, ...projected(shown.get(pk)) }, logs.get(pk) ?? []);
    runs.set(run.address.runId, run);
  }
  return {
    runs,
    headless: [...logs.keys()].filter((pk) => !heads.has(pk)),
    byProject: byProject.map((item) => addressOf(entryShape.parse(item).pk).runId),
    byState: byState.map((item) => {
      const { pk, sp = '' } = entryShape.parse(item);
      // <project>#<environment>#<state>#<shard>
      return `${sp.split('#').at(-2)}/${addressOf(pk).runId}`;
    }),
  };
}

const projected = (item: RawItem | undefined): RawItem =>
  item === undefined ? {} : Object.fromEntries(Object.entries(item).filter(([name]) => name === 'status' || name === 'asOf'));

/** The partition of a run's head, from the partition of its log. */
const headOf = (pk: string): string => pk.replace(/^code#/, 'run#');

function runOf(pk: string, item: RawItem, log: readonly (readonly [number, RawItem])[]): StoredRun {
  const { w, k, ci, tp, status, asOf } = headShape.parse(item);
  const address = addressOf(pk);
  return {
    address,
    told: {
      address,
      workflow: { name: w },
      ...(ci !== undefined && tp !== undefined && { trace: { correlationId: ci, traceparent: tp } }),
    },
    workflowName: w,
    kind: k,
    status,
    asOf,
    commits: [
      commitOf(1, item),
      ...(item['n2'] === undefined ? [] : [commitOf(2, secondOf(item))]),
      ...log.toSorted(([one], [other]) => one - other).map(([number, each]) => commitOf(number, each)),
    ],
  };
}

/** Commit 2 of a head that holds it, with the names and the format version of a commit of its own. */
const secondOf = (head: RawItem): RawItem =>
  Object.fromEntries(
    Object.entries(head).flatMap(([name, value]) => (/^(?:[efabn]2|v)$/.test(name) ? [[name.charAt(0), value]] : [])),
  );

function addressOf(pk: string): RunAddress {
  const [, projectId, environment, runId] = runPartition.exec(pk) ?? [];
  return {
    projectId: schema.projectId.parse(projectId),
    environment: schema.environment.parse(environment),
    runId: schema.runId.parse(runId),
  };
}
