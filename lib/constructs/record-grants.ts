/**
 * What a role may do with records of the tables, kind by kind. A permission names kinds (`lib/contract/record-kinds.ts`); a role gets one
 * statement for all kinds of a table with which it may do the same, because the inline policies of a role have 10,240 characters
 * together. (IAM User Guide, "IAM and AWS STS quotas")
 */
import type * as iam from 'aws-cdk-lib/aws-iam';
import { type ControlKind, type RunsKind, type TableName, partitionsLike, recordKinds } from '../contract/record-kinds.ts';
import { allow, ofPartitions } from './allow.ts';
import type { Storage } from './storage.ts';

const actions = {
  g: 'dynamodb:GetItem',
  b: 'dynamodb:BatchGetItem',
  q: 'dynamodb:Query',
  p: 'dynamodb:PutItem',
  u: 'dynamodb:UpdateItem',
  d: 'dynamodb:DeleteItem',
} as const;
type Letter = keyof typeof actions;
const letters = Object.keys(actions).filter((letter): letter is Letter => letter in actions);

/** Letters: get, batch get, query, put, update, delete; `n` of keys: note when one was last used. */
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
    const together = Map.groupBy(granted.keys(), (kind) => letters.filter((letter) => granted.get(kind)?.has(letter)).join(''));
    const statements = [...together].map(([each, kinds]) =>
      allow(
        letters.filter((letter) => each.includes(letter)).map((letter) => actions[letter]),
        [tables[table]],
        ofPartitions(...kinds.map(partitionsLike)),
      ),
    );
    const isUseNoted = [...granted.values()].some((each) => each.has('n'));
    return [...statements.filter(({ actions: { length } }) => length > 0), ...(isUseNoted ? [noteUse(tables.control)] : [])];
  });
}

function grantedKinds(
  table: TableName,
  grants: readonly (RecordGrants | undefined)[],
): ReadonlyMap<RunsKind | ControlKind, ReadonlySet<string>> {
  const granted = new Map<RunsKind | ControlKind, Set<string>>();
  const of = (kind: string): kind is RunsKind | ControlKind => kind in recordKinds[table];
  for (const grant of grants) {
    for (const [kind, given] of Object.entries(grant?.[table] ?? {})) {
      if (of(kind)) granted.set(kind, new Set([...(granted.get(kind) ?? []), ...given.split('')]));
    }
  }
  return granted;
}

/**
 * Whoever lets a key in notes its use, and changes nothing else of it. The answer of the update must not tell more than was changed.
 * (DynamoDB Developer Guide, "Using IAM policy conditions for fine-grained access control")
 */
const noteUse = (tableArn: string) => {
  const { Null, ...like } = ofPartitions(partitionsLike('key'));
  return allow([actions.u], [tableArn], {
    ...like,
    'ForAllValues:StringEquals': { 'dynamodb:Attributes': ['pk', 'sk', 'lastUsedAt'] },
    StringEqualsIfExists: { 'dynamodb:ReturnValues': ['NONE', 'UPDATED_OLD', 'UPDATED_NEW'] },
    Null: { ...Null, 'dynamodb:Attributes': 'false' },
  });
};
