/** The versions of a workflow, the latest one first. */
import type { ReactNode } from 'react';
import type { WorkflowDetail } from '../api.ts';
import { Link } from '../router.tsx';

/** Each version has one row; a workflow rarely has more. */
const maxRows = 200;

export function VersionList({ workflow: { name, version, latestVersion } }: { readonly workflow: WorkflowDetail }): ReactNode {
  const numbers = Array.from({ length: Math.min(latestVersion, maxRows) }, (_, index) => latestVersion - index);
  const address = `/workflows/${encodeURIComponent(name)}`;
  return (
    <table className="rows versions">
      <thead>
        <tr>
          <th scope="col">Version</th>
          <th scope="col" className="links">
            <span className="hidden">Links</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {numbers.map((each) => (
          <tr key={each} className={each === version ? 'selected' : undefined}>
            <td>
              <Link to={`${address}?version=${each}`} className="name">
                v{each}
              </Link>
              {each === latestVersion ? <span className="dim small"> latest: new runs start on it</span> : null}
            </td>
            <td className="links">
              {each === latestVersion ? null : (
                <Link to={`${address}?version=${each}&tab=compare`}>
                  Compare v{each} with v{latestVersion}
                </Link>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
