/** A table of published things with versions: lenses or queries. */
import type { ReactNode } from 'react';
import { Link } from '../router.tsx';
import { Ago } from './time.tsx';

interface Published {
  readonly name: string;
  readonly latestVersion: number;
  readonly updatedAt: string;
  readonly archivedAt?: string;
}

interface PublishedTableProps<Row> {
  readonly rows: readonly Row[];
  /** the page of the list, for example `/lenses` */
  readonly path: string;
  readonly one: string;
  readonly many: string;
  /** a column beside the name and the version */
  readonly column?: { readonly title: string; readonly of: (row: Row) => string };
}

export const PublishedTable = <Row extends Published>({ rows, path, one, many, column }: PublishedTableProps<Row>): ReactNode =>
  rows.length === 0 ? (
    <p className="none dim">
      No {one} matches. <Link to={path}>Show all {many}</Link>
    </p>
  ) : (
    <table className="rows stack">
      <thead>
        <tr>
          <th scope="col">{`${one.slice(0, 1).toUpperCase()}${one.slice(1)}`}</th>
          {column === undefined ? null : (
            <th scope="col" className="version">
              {column.title}
            </th>
          )}
          <th scope="col" className="version">
            Version
          </th>
          <th scope="col" className="when">
            Published
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.name}>
            <td>
              <Link to={`${path}/${encodeURIComponent(row.name)}`} className="name">
                <bdi>{row.name}</bdi>
              </Link>
              {row.archivedAt === undefined ? null : <span className="dim small"> archived</span>}
            </td>
            {column === undefined ? null : (
              <td className="version" data-label={column.title}>
                {column.of(row)}
              </td>
            )}
            <td className="version" data-label="Version">
              v{row.latestVersion}
            </td>
            <td className="when" data-label="Published">
              <Ago at={row.updatedAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
