/** Which version of a published thing the page shows. It is in the address; the latest one is not. */
import type { ReactNode } from 'react';
import { setSearch } from '../router.tsx';

/** The version in the address; undefined: the latest one. */
export const versionIn = (search: URLSearchParams): number | undefined => {
  const version = Number(search.get('version'));
  return Number.isSafeInteger(version) && version > 0 ? version : undefined;
};

interface VersionChoiceProps {
  readonly version: number;
  readonly latest: number;
}

export const VersionChoice = ({ version, latest }: VersionChoiceProps): ReactNode =>
  latest === 1 ? null : (
    <label className="check">
      Version
      <select
        value={version}
        onChange={({ currentTarget: { value } }) => setSearch({ version: value === String(latest) ? undefined : value })}
      >
        {Array.from({ length: latest }, (_, index) => latest - index).map((each) => (
          <option key={each} value={each}>
            v{each}
            {each === latest ? ', the latest' : ''}
          </option>
        ))}
      </select>
    </label>
  );
