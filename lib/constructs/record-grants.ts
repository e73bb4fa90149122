/**
 * Grants on table records by kind (`lib/contract/record-kinds.ts`). Kinds of a table with the same actions share one statement, because
 * the inline policies of a role may have 10,240 characters in total. (IAM User Guide, "IAM and AWS STS quotas")
 */
import type * as iam from 'aws-cdk-lib/aws-iam';
import { type ControlKind, type RunsKind, type TableName, partitionPattern, recordKinds } from '../contract/record-kinds.ts';
import { allow, partitionCondition } from './statements.ts';
import type { Storage } from './storage.ts';

const actions = {
  g: 'dynamodb:GetItem',
  b: 'dynamodb:BatchGetItem',
  q: 'dynamodb:Query',
  p: 'dynamodb:PutItem',
  u: 'dynamodb:UpdateItem',
  d: 'dynamodb:DeleteItem',
} as const;
type ActionLetter = keyof typeof actions;
const actionLetters = Object.keys(actions).filter((letter): letter is ActionLetter => letter in actions);

/**
 * A batch can have records of several kinds, and one statement must allow all of its keys. So a role has one statement for the kinds of its
 * batches. (IAM User Guide, "Policy evaluation logic": a request is allowed by a statement, not by parts of several)
 */
const batchLetter: ActionLetter = 'b';

/** g: get, b: batch get, q: query, p: put, u: update, d: delete, n: record when an API key or a session was last used. */
export interface RecordGrants {
  readonly runs?: { readonly [Kind in RunsKind]?: string };
  readonly control?: { readonly [Kind in ControlKind]?: string };
}

export function recordStatements(
  grants: readonly (RecordGrants | undefined)[],
  storage: Storage,
): readonly iam.PolicyStatement[] {
  const tables = { runs: storage.runsTable.tableArn, control: storage.controlTable.tableArn };
  return (['runs', 'control'] as const).flatMap((table) => {
    const granted = grantedKinds(table, grants);
    const kindsByLetters = Map.groupBy(granted.keys(), (kind) =>
      actionLetters.filter((letter) => letter !== batchLetter && granted.get(kind)?.has(letter)).join(''),
    );
    const inBatches = [...granted.keys()].filter((kind) => granted.get(kind)?.has(batchLetter));
    if (inBatches.length > 0) kindsByLetters.set(batchLetter, inBatches);
    const statements = [...kindsByLetters].map(([letterSet, kinds]) =>
      allow(
        actionLetters.filter((letter) => letterSet.includes(letter)).map((letter) => actions[letter]),
        [tables[table]],
        partitionCondition(...kinds.map(partitionPattern)),
      ),
    );
    const usedKinds = [...granted].filter(([, letterSet]) => letterSet.has('n')).map(([kind]) => kind);
    return [
      ...statements.filter(({ actions: { length } }) => length > 0),
      ...(usedKinds.length > 0 ? [useStatement(tables[table], usedKinds)] : []),
    ];
  });
}

function grantedKinds(
  table: TableName,
  grants: readonly (RecordGrants | undefined)[],
): ReadonlyMap<RunsKind | ControlKind, ReadonlySet<string>> {
  const granted = new Map<RunsKind | ControlKind, Set<string>>();
  const isRecordKind = (kind: string): kind is RunsKind | ControlKind => kind in recordKinds[table];
  for (const grant of grants) {
    for (const [kind, grantedLetters] of Object.entries(grant?.[table] ?? {})) {
      if (isRecordKind(kind)) granted.set(kind, new Set([...(granted.get(kind) ?? []), ...grantedLetters.split('')]));
    }
  }
  return granted;
}

/**
 * A function that authenticates a key or a session may update only its last use. The update must not return other attributes.
 * (DynamoDB Developer Guide, "Using IAM policy conditions for fine-grained access control")
 */
const useStatement = (tableArn: string, kinds: readonly (RunsKind | ControlKind)[]) => {
  const { Null, ...conditions } = partitionCondition(...kinds.map(partitionPattern));
  return allow([actions.u], [tableArn], {
    ...conditions,
    'ForAllValues:StringEquals': { 'dynamodb:Attributes': ['pk', 'sk', 'lastUsedAt'] },
    StringEqualsIfExists: { 'dynamodb:ReturnValues': ['NONE', 'UPDATED_OLD', 'UPDATED_NEW'] },
    Null: { ...Null, 'dynamodb:Attributes': 'false' },
  });
};
