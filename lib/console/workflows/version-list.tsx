/** The versions of a workflow, the latest one first: who published each, when, and what its note says. */
import type { ReactNode } from 'react';
import { useInfiniteQuery } from '@tanstack/react-query';
import { defined } from '../../base/defined.ts';
import { type VersionPage, type WorkflowDetail, api } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Loading } from '../primitives/loading.tsx';
import { Ago } from '../primitives/time.tsx';
import { Link } from '../router.tsx';

export function VersionList({ workflow }: { readonly workflow: WorkflowDetail }): ReactNode {
  const first: string | undefined = undefined;
  const versions = useInfiniteQuery({
    queryKey: ['versions', workflow.name, workflow.latestVersion],
    initialPageParam: first,
    queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) =>
      api.versions(workflow.name, defined({ cursor: pageParam }), signal),
    getNextPageParam: ({ cursor }: VersionPage) => cursor ?? undefined,
  });
  const rows = versions.data?.pages.flatMap(({ data }) => data) ?? [];
  if (versions.error !== null) return <ErrorText error={versions.error} onRetry={() => void versions.refetch()} />;
  if (versions.isPending) return <Loading />;
  return (
    <>
      <table className="rows versions">
        <thead>
          <tr>
            <th scope="col" className="version">
              Version
            </th>
            <th scope="col" className="why">
              Note
            </th>
            <th scope="col" className="when">
              Published
            </th>
            <th scope="col" className="by">
              By
            </th>
            <th scope="col" className="links">
              <span className="hidden">Links</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={row.version} row={row} workflow={workflow} />
          ))}
        </tbody>
      </table>
      {versions.hasNextPage ? (
        <button type="button" onClick={() => void versions.fetchNextPage()} disabled={versions.isFetchingNextPage}>
          Older versions
        </button>
      ) : null}
    </>
  );
}

interface RowProps {
  readonly row: VersionPage['data'][number];
  readonly workflow: WorkflowDetail;
}

function Row({
  row: { version, createdAt, createdBy, note },
  workflow: { name, version: shown, latestVersion },
}: RowProps): ReactNode {
  const address = `/workflows/${encodeURIComponent(name)}`;
  return (
    <tr className={version === shown ? 'selected' : undefined}>
      <td className="version">
        <Link to={`${address}?version=${version}`} className="name">
          v{version}
        </Link>
        {version === latestVersion ? <span className="dim small"> latest</span> : null}
      </td>
      <td className="why" title={note}>
        <bdi>{note}</bdi>
      </td>
      <td className="when">
        <Ago at={createdAt} />
      </td>
      <td className="by dim" title={createdBy}>
        {createdBy}
      </td>
      <td className="links">
        {version === latestVersion ? null : (
          <Link to={`${address}?version=${version}&tab=compare`}>
            Compare v{version} with v{latestVersion}
          </Link>
        )}
      </td>
    </tr>
  );
}
