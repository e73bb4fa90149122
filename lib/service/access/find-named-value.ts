/** What a setting gives a name for one project and environment: by project, then by environment or `*`, then by name. */
import type { Scope } from '../../engine/ids.ts';

export type NamedByScope<Value> = Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, Value>>>>>>;

/** An environment's own name comes before one that is meant for all of them. */
export function findNamedValue<Value>(
  list: NamedByScope<Value>,
  { projectId, environment }: Scope,
  name: string,
): Value | undefined {
  const project = ownProperty(list, projectId);
  const lists = project === undefined ? [] : [ownProperty(project, environment), ownProperty(project, '*')];
  return lists.map((one) => (one === undefined ? undefined : ownProperty(one, name))).find((value) => value !== undefined);
}

const ownProperty = <Value>(record: Readonly<Record<string, Value>>, key: string): Value | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;
