/** The filters of the list of runs. They are in the address, so that a filtered list can be shared. */
import type { ReactNode } from 'react';
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

const spans: readonly Option[] = [
  ['', 'any time'],
  ['1', 'last hour'],
  ['24', 'last day'],
  ['168', 'last week'],
];

export function Filters(): ReactNode {
  const search = useSearch();
  const workflow = search.get('workflow') ?? '';
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
      <input
        key={workflow}
        className="grow"
        type="search"
        aria-label="Workflow"
        placeholder="Name of the workflow"
        defaultValue={workflow}
        onBlur={(event) => setSearch({ workflow: event.currentTarget.value.trim() })}
        onKeyDown={(event) => {
          if (event.key === 'Enter') setSearch({ workflow: event.currentTarget.value.trim() });
        }}
      />
      <select
        aria-label="Created"
        value={search.get('hours') ?? ''}
        onChange={(event) => setSearch({ hours: event.currentTarget.value })}
      >
        {spans.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
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
            <input
              key={search.get(name) ?? ''}
              type="search"
              spellCheck={false}
              defaultValue={search.get(name) ?? ''}
              onBlur={(event) => setSearch({ [name]: event.currentTarget.value.trim() })}
              onKeyDown={(event) => {
                if (event.key === 'Enter') setSearch({ [name]: event.currentTarget.value.trim() });
              }}
            />
          </label>
        ))}
      </div>
    </details>
  );
};
