/** The differences between the shown version of a workflow and another one. */
import type { ReactNode } from 'react';
import { useQuery } from '@tanstack/react-query';
import { type WorkflowDetail, api } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Loading } from '../primitives/loading.tsx';
import { setSearch, useSearch } from '../router.tsx';
import { definitionDiff } from './definition-diff.ts';
import { DiffView } from './diff-view.tsx';

/** The older of two versions is the left one. Without a choice: the version before, or the latest one for an older version. */
function otherVersion(search: URLSearchParams, { version, latestVersion }: WorkflowDetail): number {
  const chosen = Number(search.get('with'));
  if (Number.isSafeInteger(chosen) && chosen >= 1 && chosen <= latestVersion) return chosen;
  return version === latestVersion ? Math.max(1, version - 1) : latestVersion;
}

export function CompareVersions({ workflow }: { readonly workflow: WorkflowDetail }): ReactNode {
  const with_ = otherVersion(useSearch(), workflow);
  const other = useQuery({
    queryKey: ['workflow', workflow.name, with_],
    queryFn: ({ signal }) => api.workflow(workflow.name, with_, signal),
    // A version never changes.
    staleTime: Number.POSITIVE_INFINITY,
  });
  const numbers = Array.from({ length: workflow.latestVersion }, (_, index) => workflow.latestVersion - index);
  return (
    <>
      <form className="filters" onSubmit={(event) => event.preventDefault()}>
        <label className="check">
          Compare v{workflow.version} with
          <select value={with_} onChange={(event) => setSearch({ with: event.currentTarget.value })}>
            {numbers.map((each) => (
              <option key={each} value={each}>
                v{each}
              </option>
            ))}
          </select>
        </label>
      </form>
      {other.error === null ? null : <ErrorText error={other.error} onRetry={() => void other.refetch()} />}
      {other.data === undefined ? other.error === null ? <Loading /> : null : <Sides one={workflow} other={other.data} />}
    </>
  );
}

function Sides({ one, other }: { readonly one: WorkflowDetail; readonly other: WorkflowDetail }): ReactNode {
  const [before, after] = one.version < other.version ? [one, other] : [other, one];
  return (
    <>
      <p className="dim">
        From v{before.version} to v{after.version}. Positions of nodes do not count.
      </p>
      <DiffView differences={definitionDiff(before, after)} />
    </>
  );
}
