/** The filters of a list of published things: a part of the name, and whether archived ones are in it. Both are in the address. */
import type { ReactNode } from 'react';
import { setSearch, useSearch } from '../router.tsx';

export function useNameFilter() {
  const search = useSearch();
  const isArchived = search.get('archived') === 'true';
  const wanted = (search.get('name') ?? '').toLowerCase();
  return {
    isArchived,
    isFiltered: wanted !== '' || isArchived,
    /** of the API's list */
    query: isArchived ? { archived: 'true' } : {},
    matches: (...names: readonly string[]): boolean => names.some((name) => name.toLowerCase().includes(wanted)),
  };
}

interface NameFilterProps {
  /** of the field */
  readonly label?: string;
  /** things that are deleted instead are never archived */
  readonly hasArchived?: boolean;
}

export function NameFilter({ label = 'Name', hasArchived = true }: NameFilterProps): ReactNode {
  const search = useSearch();
  return (
    <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <input
        type="search"
        className="grow"
        placeholder={label}
        aria-label={label}
        defaultValue={search.get('name') ?? ''}
        onChange={(event) => setSearch({ name: event.currentTarget.value.trim() })}
      />
      {hasArchived ? (
        <label className="check">
          <input
            type="checkbox"
            checked={search.get('archived') === 'true'}
            onChange={(event) => setSearch({ archived: event.currentTarget.checked ? 'true' : undefined })}
          />
          Archived
        </label>
      ) : null}
    </form>
  );
}
