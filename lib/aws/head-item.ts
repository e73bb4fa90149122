/** The item of a head: commit 1, the creation record, and the projection. After the creation only the projection changes, and the deadline with the expiry. */
import * as z from 'zod';
import { defined } from '../base/defined.ts';
import { failure } from '../codec/events.ts';
import * as schema from '../codec/ids.ts';
import { Unreadable } from '../codec/unreadable.ts';
import { runsTableKeys } from '../contract/environment.ts';
import { firstCommit, type RunAddress } from '../engine/ids.ts';
import type { Commit } from '../engine/log/commit.ts';
import { type Head, type HeadProjection, type RetentionProgress, type RunCreation, runStatuses } from '../engine/log/head.ts';
import type { Instant } from '../engine/time.ts';
import { listedState } from '../ports/run-index.ts';
import {
  type Item,
  expiry,
  packed,
  text,
  anyString,
  anyNumber,
  anyInstant,
  anyMark,
  stringOf,
  numberOf,
  jsonOf,
  optional,
  nullable,
  named,
  keyPart,
  itemSchema,
  partSchema,
} from './item-schema.ts';
import { commitAttributes, holdsSecondCommitName, secondCommitPart } from './run-items.ts';
import { creationSort, projectPartitionOf, runIn, statePartitionOf } from './run-keys.ts';
import type { Expression } from './table.ts';

const { byProject, byState } = runsTableKeys;

const commitPart = partSchema('a head', commitAttributes);

/** Also the item of a code run's projection, which is apart from the head. */
export const projectionPart = partSchema('a projection', {
  status: stringOf(z.enum(runStatuses)),
  asOf: numberOf(schema.commitNo),
  attention: optional(stringOf(z.enum(['waiting', 'retrying']))),
  endedAt: optional(anyInstant),
  error: optional(jsonOf(failure)),
  hasExtendedDeadline: named('xd', optional(anyMark)),
});
/** An update removes those that the projection does not have. */
const optionalProjectionNames = ['attention', 'endedAt', 'error'] as const;

/** The attributes that an extension of the deadline updates. */
export const headDeadlineNames = { deadlineAt: 'da', expiresAt: 'x', retention: 'rp' } as const;

/** While a job moves the expiries of the other items. */
const retentionProgress: z.ZodType<RetentionProgress> = z.strictObject({
  expiresAt: schema.instant,
  part: z.enum(['items', 'payloads']),
  after: z.string().min(1),
});
export const encodeRetentionProgress = (progress: RetentionProgress) => packed(progress);

const headItem = itemSchema('a head', {
  address: keyPart('pk', z.string().transform(runIn)),
  kind: named('k', stringOf(z.enum(['graph', 'bundle', 'code', 'devkit']))),
  name: named('w', anyString),
  version: named('wv', optional(anyNumber)),
  /** the version that the author of the code chose */
  codeVersion: named('cv', optional(anyString)),
  deploymentId: named('d', nullable(stringOf(schema.deploymentId))),
  queueNamespace: named('qn', optional(anyString)),
  isTest: named('t', optional(anyMark)),
  holdsSecondCommit: named(holdsSecondCommitName, optional(anyMark)),
  createdAt: named('ca', anyInstant),
  deadlineAt: named(headDeadlineNames.deadlineAt, anyInstant),
  deadlineLimitAt: named('dl', optional(anyInstant)),
  availableAt: named('aa', optional(anyInstant)),
  expiresAt: named(headDeadlineNames.expiresAt, anyInstant),
  retention: named(headDeadlineNames.retention, optional(jsonOf(retentionProgress))),
  bodyHash: named('h', anyString),
  correlationId: named('ci', optional(stringOf(schema.correlationId))),
  traceparent: named('tp', optional(stringOf(schema.traceparent))),
});
type StoredHead = ReturnType<typeof headItem.decode>;

export function headAttributes(run: RunCreation, projection: HeadProjection): Item {
  const sort = text(creationSort(run.createdAt, run.address.runId));
  const state = listedState(projection);
  return {
    ...commitPart.encode(run.commit),
    ...projectionPart.encode(projection),
    ...headItem.encode({ ...run, ...run.trace, ...workflowOf(run) }, run.expiresAt),
    [byProject.partition]: text(projectPartitionOf(run.address)),
    [byProject.sort]: sort,
    ...(state === undefined ? {} : { [byState.partition]: text(statePartitionOf(run.address, state)), [byState.sort]: sort }),
  };
}

const workflowOf = (run: RunCreation) =>
  defined({
    name: run.workflow.name,
    version: run.kind === 'graph' ? run.workflow.version : undefined,
    codeVersion: run.kind === 'code' ? run.workflow.version : undefined,
    queueNamespace: run.kind === 'devkit' ? run.queueNamespace : undefined,
  });

export const headIn = (item: Item): Head => {
  const { kind, name, version, codeVersion, deploymentId, queueNamespace, isTest, holdsSecondCommit, ...others } =
    headItem.decode(item);
  const { correlationId, traceparent, ...creation } = others;
  return defined({
    ...creation,
    ...pinnedTo(defined({ kind, name, version, codeVersion, deploymentId, queueNamespace, isTest, holdsSecondCommit })),
    trace: correlationId === undefined || traceparent === undefined ? undefined : { correlationId, traceparent },
    commit: { number: firstCommit, ...commitPart.decode(item) },
    projection: projectionPart.decode(item),
  });
};

type Pinned = Pick<
  StoredHead,
  'kind' | 'name' | 'version' | 'codeVersion' | 'deploymentId' | 'queueNamespace' | 'isTest' | 'holdsSecondCommit'
>;

const pinnedTo = ({ kind, name, version, codeVersion, deploymentId, queueNamespace, isTest, holdsSecondCommit }: Pinned) => {
  if (kind === 'graph' && version !== undefined) {
    return defined({
      kind,
      workflow: { name, version },
      deploymentId: null,
      isTest,
      holdsSecondCommit,
    });
  }
  if (kind === 'bundle' && deploymentId !== null) return { kind, workflow: { name }, deploymentId };
  if (kind === 'devkit' && deploymentId !== null) return defined({ kind, workflow: { name }, deploymentId, queueNamespace });
  if (kind === 'code' && deploymentId !== null) {
    return { kind, workflow: defined({ name, version: codeVersion }), deploymentId };
  }
  throw new Unreadable('a head', `a ${kind} run without a ${kind === 'graph' ? 'version' : 'deployment'}`);
};

/**
 * Sets the attributes of the projection, removes the other optional ones, and adds the run to the sparse index or removes it.
 * @param beside `separateItem`: other attributes of the projection's item, if it is apart from the head; absent: part of the head.
 * `attributes`: what is set besides
 */
export const projectionUpdate = (
  run: RunAddress,
  projection: HeadProjection,
  {
    separateItem,
    attributes: others = {},
  }: {
    readonly separateItem?: { readonly createdAt: Instant; readonly expiresAt: Instant };
    readonly attributes?: Item;
  } = {},
): Expression => {
  const attributes = {
    ...projectionPart.encode(projection),
    ...(separateItem === undefined ? {} : { [runsTableKeys.expiry]: expiry(separateItem.expiresAt) }),
    ...others,
  };
  const state = listedState(projection);
  const set = setting(attributes);
  const sets = [set.expression];
  const removes = optionalProjectionNames.filter((name) => !(name in attributes)).map((name) => `#${name}`);
  // Both indexes sort by creation. A head already has the sort key; a separate item needs it.
  const creationKey = separateItem && text(creationSort(separateItem.createdAt, run.runId));
  if (state !== undefined) sets.push(`#sp = :sp`, creationKey === undefined ? '#ss = #gs' : '#ss = :ss');
  else removes.push('#sp', '#ss');
  return {
    expression: `${sets.join(', ')}${removes.length > 0 ? ` REMOVE ${removes.join(', ')}` : ''}`,
    names: {
      ...set.names,
      ...Object.fromEntries(optionalProjectionNames.map((name) => [`#${name}`, name])),
      '#sp': byState.partition,
      '#ss': byState.sort,
      ...(state !== undefined && creationKey === undefined && { '#gs': byProject.sort }),
    },
    values: {
      ...set.values,
      ...(state !== undefined && {
        ':sp': text(statePartitionOf(run, state)),
        ...(creationKey !== undefined && { ':ss': creationKey }),
      }),
    },
  };
};

/** Sets these attributes. */
const setting = (attributes: Item): Required<Expression> => {
  const names = Object.keys(attributes);
  return {
    expression: `SET ${names.map((name) => `#${name} = :${name}`).join(', ')}`,
    names: Object.fromEntries(names.map((name) => [`#${name}`, name])),
    values: Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`:${name}`, value])),
  };
};

/** Adds commit 2 to the head, with the end of the run if this commit ends it and nothing else remains to do. */
export function secondCommitUpdate(run: RunAddress, commit: Commit, ended: HeadProjection | undefined): Expression {
  const attributes = secondCommitPart.encode(commit);
  return ended === undefined ? setting(attributes) : projectionUpdate(run, ended, { attributes });
}
