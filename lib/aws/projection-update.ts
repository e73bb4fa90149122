/** The update of a projection, the only change of a head after its creation. */
import { runsTableKeys } from '../contract/environment.ts';
import type { RunAddress } from '../engine/ids.ts';
import type { HeadProjection } from '../engine/log/head.ts';
import { listedState } from '../ports/run-index.ts';
import type { Instant } from '../engine/time.ts';
import { expiry, text } from './attributes.ts';
import { optionalProjectionNames, projectionAttributes } from './head-item.ts';
import { creationSort, statePartitionOf } from './run-keys.ts';
import type { Expression } from './table.ts';

const { byProject, byState } = runsTableKeys;

/**
 * Sets the attributes of the projection, removes the other optional ones, and adds the run to the sparse index or removes it.
 * @param separateItem other attributes of the projection's item, if it is apart from the head; absent: part of the head
 */
export const projectionUpdate = (
  run: RunAddress,
  projection: HeadProjection,
  separateItem?: { readonly createdAt: Instant; readonly expiresAt: Instant },
): Expression => {
  const attributes = {
    ...projectionAttributes(projection),
    ...(separateItem === undefined ? {} : { [runsTableKeys.expiry]: expiry(separateItem.expiresAt) }),
  };
  const state = listedState(projection);
  const sets = Object.keys(attributes).map((name) => `#${name} = :${name}`);
  const removes = optionalProjectionNames.filter((name) => !(name in attributes)).map((name) => `#${name}`);
  // Both indexes sort by creation. A head already has the sort key; a separate item needs it.
  const creationKey = separateItem && text(creationSort(separateItem.createdAt, run.runId));
  if (state !== undefined) sets.push(`#sp = :sp`, creationKey === undefined ? '#ss = #gs' : '#ss = :ss');
  else removes.push('#sp', '#ss');
  return {
    expression: `SET ${sets.join(', ')}${removes.length > 0 ? ` REMOVE ${removes.join(', ')}` : ''}`,
    names: {
      ...Object.fromEntries([...Object.keys(attributes), ...optionalProjectionNames].map((name) => [`#${name}`, name])),
      '#sp': byState.partition,
      '#ss': byState.sort,
      ...(state !== undefined && creationKey === undefined && { '#gs': byProject.sort }),
    },
    values: {
      ...Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`:${name}`, value])),
      ...(state !== undefined && {
        ':sp': text(statePartitionOf(run, state)),
        ...(creationKey !== undefined && { ':ss': creationKey }),
      }),
    },
  };
};
