/** The installation: its version, its region, and its settings as they were deployed. Nothing here can be changed. */
import type { ReactNode } from 'react';
import { useQuery } from '@tanstack/react-query';
import { type Installation, api } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Loading } from '../primitives/loading.tsx';

export function SettingsPage(): ReactNode {
  const found = useQuery({ queryKey: ['installation'], queryFn: ({ signal }) => api.installation(signal), staleTime: 60_000 });
  return (
    <section aria-labelledby="settings-title">
      <div className="page-head">
        <h1 id="settings-title">Settings</h1>
        <span className="dim">as they were deployed; a deployment changes them</span>
      </div>
      {found.error === null ? null : <ErrorText error={found.error} onRetry={() => void found.refetch()} />}
      {found.data === undefined ? found.error === null ? <Loading /> : null : <Content of={found.data} />}
    </section>
  );
}

const Content = ({ of: { version, region, limits, features, choices, names } }: { readonly of: Installation }): ReactNode => (
  <>
    <dl className="facts">
      <div>
        <dt>Version</dt>
        <dd>{version}</dd>
      </div>
      <div>
        <dt>Region</dt>
        <dd>{region}</dd>
      </div>
    </dl>
    <div className="settings">
      <Group title="Limits" heads={['Setting', 'Value']}>
        {sorted(limits).map(([name, value]) => (
          <Setting key={name} name={name}>
            <span className="value">{value === null ? 'no limit' : value.toLocaleString('en')}</span>
          </Setting>
        ))}
      </Group>
      <Group title="Features" heads={['Setting', 'State']}>
        {sorted(features).map(([name, isOn]) => (
          <Setting key={name} name={name}>
            <span className={isOn ? 'pill good small' : 'pill small'}>{isOn ? 'on' : 'off'}</span>
          </Setting>
        ))}
      </Group>
      <Group title="Choices" heads={['Setting', 'Value']}>
        {sorted(choices).map(([name, value]) => (
          <Setting key={name} name={name}>
            <span className="value">{value}</span>
          </Setting>
        ))}
      </Group>
      <Group title="Names for this project" heads={['Setting', 'Names']}>
        {sorted(names).map(([name, values]) => (
          <Setting key={name} name={name}>
            {values.length === 0 ? <span className="dim">none</span> : <Names values={values} />}
          </Setting>
        ))}
      </Group>
    </div>
  </>
);

const sorted = <Value,>(record: Readonly<Record<string, Value>>): readonly (readonly [string, Value])[] =>
  Object.entries(record).toSorted(([one], [other]) => one.localeCompare(other));

interface GroupProps {
  readonly title: string;
  readonly heads: readonly [string, string];
  readonly children: ReactNode;
}

const Group = ({ title, heads, children }: GroupProps): ReactNode => (
  <table className="rows">
    <caption>{title}</caption>
    <thead>
      <tr>
        {heads.map((head) => (
          <th key={head} scope="col">
            {head}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>{children}</tbody>
  </table>
);

const Setting = ({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode => (
  <tr>
    <th scope="row">
      <code>{name}</code>
    </th>
    <td className="what">{children}</td>
  </tr>
);

const Names = ({ values }: { readonly values: readonly string[] }): ReactNode =>
  values.map((value) => (
    <span key={value} className="chip">
      <bdi>{value}</bdi>
    </span>
  ));
