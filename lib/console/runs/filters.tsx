/** The filters of the list of runs. They are in the address, so that a filtered list can be shared. */
import type { ReactNode } from 'react';
import { TextFilter, TimeFilter } from '../primitives/search-filters.tsx';
import { setSearch, useSearch } from '../router.tsx';

type Option = readonly [value: string, text: string];

const states: readonly Option[] = [
  ['', 'All'],
  ['status=running', 'Running'],
  ['attention=waiting', 'Waiting'],
  ['attention=retrying', 'Retrying'],
  ['status=completed', 'Completed'],
  ['status=failed', 'Failed'],
  ['status=cancelled', 'Cancelled'],
];

export function Filters(): ReactNode {
  const search = useSearch();
  const chosen =
    ['status', 'attention'].flatMap((name) => (search.get(name) === null ? [] : [`${name}=${search.get(name)}`]))[0] ?? '';
  const choose = (value: string): void => {
    const [name = '', wanted] = value.split('=');
    setSearch({ status: undefined, attention: undefined, ...(name === '' ? {} : { [name]: wanted }) });
  };
  return (
    <form className="filters" role="search" aria-label="Filter the runs" onSubmit={(event) => event.preventDefault()}>
      <div className="segments" role="group" aria-label="State">
        {states.map(([value, text]) => (
          <button key={value} type="button" aria-pressed={chosen === value} onClick={() => choose(value)}>
            {text}
          </button>
        ))}
      </div>
      <TextFilter className="grow" name="workflow" label="Workflow" placeholder="Name of the workflow" />
      <TimeFilter label="Created" />
      <label className="check">
        <input
          type="checkbox"
          checked={search.get('children') === 'true'}
          onChange={(event) => setSearch({ children: event.currentTarget.checked ? 'true' : undefined })}
        />
        Child runs
      </label>
      <OriginFilters search={search} />
    </form>
  );
}

const origins: readonly Option[] = [
  ['version', 'Version'],
  ['deployment', 'Deployment'],
  ['schedule', 'Schedule'],
  ['correlation', 'Correlation id'],
  ['calledBy', 'Called by run'],
];

/** Filters that few need: they are open where the address has one. */
const OriginFilters = ({ search }: { readonly search: URLSearchParams }): ReactNode => {
  const given = origins.filter(([name]) => search.get(name) !== null).length;
  return (
    <details className="more-filters" open={given > 0}>
      <summary>More filters{given === 0 ? '' : ` (${given})`}</summary>
      <div className="filters">
        {origins.map(([name, text]) => (
          <label key={name}>
            {text}
            <TextFilter name={name} />
          </label>
        ))}
      </div>
    </details>
  );
};
