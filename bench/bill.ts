/** Converts recorded calls of the embedded cloud into AWS's billing units, by part and by run. */
import * as z from 'zod';
import { secondCommitNames } from '../lib/aws/run-items.ts';
import type { RecordedCall } from '../lib/local/recorder.ts';
import type { Template } from '../lib/local/template/template.ts';
import { batchUnits, getUnits, indexUnits, queryUnits, tableOf, writeUnits } from './capacity.ts';
import { type WireItem, itemBytes, wireItem } from './item-size.ts';
import { ItemShadow, type Change } from './item-shadow.ts';
import { partOf, textOf } from './parts.ts';
import { readQueueCall } from './queue-requests.ts';

/** Sums by part. Parts without cost are absent. */
export type Sums = Readonly<Record<string, number>>;

export const lineKinds = [
  'writeUnits',
  'readUnits',
  /** successful commits from the second; the first is the head */
  'commits',
  'queueRequests',
  'emptyReceives',
  'invocations',
  'gbSeconds',
  'apiRequests',
  /** of the HTTP API */
  'startApiRequests',
  'busEvents',
  'schedules',
  'objects',
] as const;
export type LineKind = (typeof lineKinds)[number];
export type Bill = Readonly<Record<LineKind, Sums>>;

export interface Line {
  readonly kind: LineKind;
  readonly part: string;
  readonly amount: number;
  /** the calling function; see `RecordedCall` */
  readonly by: string;
  /** runs in the call; empty if it belongs to no run */
  readonly runIds: ReadonlySet<string>;
}

/** Part of a put that lost to another writer. */
const lostPuts = 'lost puts';
/** Part of the hourly write of a key's last use. */
export const lastUses = 'last uses of keys';

const runIdInText = /wrun_[0-9A-HJKMNP-TV-Z]{26}/g;
const runIdsIn = (...texts: readonly string[]): ReadonlySet<string> =>
  new Set(texts.flatMap((text) => [...text.matchAll(runIdInText)].map(([id]) => id)));

const invocationInput = z.object({ memoryMb: z.number() });
const queryKeys = z.looseObject({
  TableName: z.string(),
  IndexName: z.string().optional(),
  ExpressionAttributeValues: wireItem.default({}),
});
const getKeys = z.looseObject({ Key: wireItem });
const busInput = z.looseObject({ Entries: z.array(z.unknown()) });

/** `WorkerFunction1234ABCD` → `WorkerFunction`. */
const withoutHash = (logicalId: string): string => logicalId.replace(/[0-9A-F]{8}$/, '');

export class Meter {
  readonly #shadow: ItemShadow;
  /** labels in the bill by the name of a function or a queue */
  readonly #labels: ReadonlyMap<string, string>;
  readonly #runsOfMessage = new Map<string, ReadonlySet<string>>();

  constructor(template: Template) {
    this.#shadow = new ItemShadow(template.of('AWS::DynamoDB::Table').map(({ name, properties }) => tableOf(name, properties)));
    this.#labels = new Map(
      template
        .of('AWS::Lambda::Function', 'AWS::SQS::Queue')
        .map(({ name, logicalId }) => [name, shortened(withoutHash(logicalId))]),
    );
  }

  /** Bills the next call. Pass all calls in the order of their responses. */
  read(call: RecordedCall): readonly Line[] {
    switch (call.service) {
      case 'dynamodb':
        return this.#ofTable(call);
      case 'sqs':
        return this.#ofQueue(call);
      case 'lambda':
        return call.operation === 'Invocation' ? this.#ofFunction(call) : [];
      case 'apigateway':
        return [line('apiRequests', call.operation, 1, call.caller)];
      case 'apigatewayv2':
        return [line('startApiRequests', call.operation, 1, call.caller)];
      case 'events':
        return [line('busEvents', call.operation, busInput.parse(call.input).Entries.length, call.caller, textOfInput(call))];
      case 'scheduler':
        // Billed per fire, and each of these schedules fires once.
        return call.operation === 'CreateSchedule' ? [line('schedules', 'fired once', 1, call.caller, textOfInput(call))] : [];
      case 's3':
        return [line('objects', call.operation, 1, call.caller)];
      default:
        throw new Error(`the bill does not know the service ${call.service}`);
    }
  }

  #ofTable({ operation, input, status, response, caller }: RecordedCall): readonly Line[] {
    const output: unknown = JSON.parse(response.toString('utf8'));
    const callText = JSON.stringify(input);
    if (operation === 'GetItem' || operation === 'Query') {
      if (status !== 200) return [];
      const [part, units] =
        operation === 'GetItem' ? [partOfGet(input), getUnits(input, output)] : [partOfQuery(input), queryUnits(input, output)];
      return [line('readUnits', part, units, caller, callText)];
    }
    if (operation === 'BatchGetItem') {
      return status === 200
        ? batchUnits(input, output).map(([key, units]) => line('readUnits', partOfKey(key), units, caller, callText))
        : [];
    }
    const change = this.#shadow.follow(operation, input, status, output);
    return change === undefined ? [] : linesOf(operation, change, caller, callText);
  }

  #ofQueue({ operation, input, response, caller }: RecordedCall): readonly Line[] {
    const output: unknown = JSON.parse(response.toString('utf8') || '{}');
    const { verb, queue, requests, isEmpty, bodies, handles } = readQueueCall(operation, input, output);
    const label = this.labelOf(queue);
    if (verb === 'receive') handles.forEach((handle, at) => this.#runsOfMessage.set(handle, runIdsIn(bodies[at] ?? '')));
    const runIds = new Set([
      ...runIdsIn(...bodies),
      ...handles.flatMap((handle) => [...(this.#runsOfMessage.get(handle) ?? [])]),
    ]);
    if (isEmpty) return [line('emptyReceives', 'of any queue', requests, caller)];
    return [{ kind: 'queueRequests', part: `${verb} ${label}`, amount: requests, by: caller, runIds }];
  }

  #ofFunction({ caller, input, tookMs }: RecordedCall): readonly Line[] {
    const label = this.labelOf(caller);
    const gigabytes = invocationInput.parse(input).memoryMb / 1_024;
    return [line('invocations', label, 1, caller), line('gbSeconds', label, (gigabytes * tookMs) / 1_000, caller)];
  }

  /** The label of a function or a queue: `worker`, `node queue`. */
  labelOf(name: string): string {
    return this.#labels.get(name) ?? name;
  }
}

/** Derives a label from a construct id: `StepwellQueuesNodeQueue` is the node queue. */
const shortened = (id: string): string =>
  id
    .replace(/^(Stepwell|Runtime)+/, '')
    .replace(/^(Queues|Functions)/, '')
    .replace(/(Function|Handler)$/, '')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();

function linesOf(operation: string, change: Change, by: string, callText: string): readonly Line[] {
  const { table, key, before, after, requested, isRefused } = change;
  const sizes = [before, isRefused ? requested : after].map((item) => (item === undefined ? 0 : itemBytes(item)));
  const keyPart = partOf(textOf(key, 'pk'), textOf(key, 'sk'));
  const isOfLog = keyPart === 'head' || keyPart === 'commits';
  const isSecondCommit = keyPart === 'head' && operation === 'UpdateItem' && callText.includes(secondNonce);
  const isPut = operation === 'PutItem' || isSecondCommit;
  const isWithoutEnd = isSecondCommit && !callText.includes('":status"');
  const part = isRefused && isPut && isOfLog ? lostPuts : isWithoutEnd ? 'commits' : partOfWrite(operation, keyPart);
  const lines = [line('writeUnits', part, writeUnits(...sizes), by, callText)];
  if (isRefused) return lines;
  if (keyPart === 'commits' || isSecondCommit) lines.push(line('commits', 'won', 1, by, callText));
  for (const index of table.indexes) {
    const units = indexUnits(table, index, before, after);
    if (units > 0) lines.push(line('writeUnits', index.name, units, by, callText));
  }
  return lines;
}

/** In an update of a head that adds commit 2 to it. */
const secondNonce = `":${secondCommitNames.nonce}"`;

/** A head is put once. Later updates are the projection of the run's end, also with commit 2, or commit 2 alone, which counts as a commit. */
const partOfWrite = (operation: string, part: string): string => {
  if (part === 'api keys' && operation === 'UpdateItem') return lastUses;
  return part === 'head' && operation === 'UpdateItem' ? 'end' : part;
};

const partOfKey = (key: WireItem): string => partOf(textOf(key, 'pk'), textOf(key, 'sk'));
const partOfGet = (input: unknown): string => partOfKey(getKeys.parse(input).Key);

function partOfQuery(input: unknown): string {
  const { IndexName, ExpressionAttributeValues } = queryKeys.parse(input);
  if (IndexName !== undefined) return IndexName;
  const sort = [':next', ':heartbeats', ':after', ':first']
    .map((name) => textOf(ExpressionAttributeValues, name))
    .find((text) => text !== '');
  return partOf(textOf(ExpressionAttributeValues, ':pk'), sort ?? '');
}

const line = (kind: LineKind, part: string, amount: number, by: string, callText = ''): Line => ({
  kind,
  part,
  amount,
  by,
  runIds: runIdsIn(callText),
});

/** The input of a schedule is nested JSON, in which run ids are still readable. */
const textOfInput = ({ input, response }: RecordedCall): string => `${JSON.stringify(input ?? '')}${response.toString('utf8')}`;

/** Sums bill lines. */
export function billOf(lines: readonly Line[]): Bill {
  const sums = new Map<LineKind, Map<string, number>>(lineKinds.map((kind) => [kind, new Map<string, number>()]));
  for (const { kind, part, amount } of lines) {
    const ofKind = sums.get(kind);
    ofKind?.set(part, (ofKind.get(part) ?? 0) + amount);
  }
  const sumsOf = (kind: LineKind): Sums =>
    Object.fromEntries([...(sums.get(kind) ?? [])].toSorted(([one], [other]) => (one < other ? -1 : 1)));
  return {
    writeUnits: sumsOf('writeUnits'),
    readUnits: sumsOf('readUnits'),
    commits: sumsOf('commits'),
    queueRequests: sumsOf('queueRequests'),
    emptyReceives: sumsOf('emptyReceives'),
    invocations: sumsOf('invocations'),
    gbSeconds: sumsOf('gbSeconds'),
    apiRequests: sumsOf('apiRequests'),
    startApiRequests: sumsOf('startApiRequests'),
    busEvents: sumsOf('busEvents'),
    schedules: sumsOf('schedules'),
    objects: sumsOf('objects'),
  };
}

export const total = (sums: Sums, except: readonly string[] = []): number =>
  Object.entries(sums).reduce((sum, [part, amount]) => (except.includes(part) ? sum : sum + amount), 0);
