/** Goes to a page, to a workflow by its name, or to a run by its id. */
import { type KeyboardEvent, type ReactNode, useId, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import { workflowNamePattern } from '../../engine/ids.ts';
import { api } from '../api.ts';
import { Modal } from '../primitives/modal.tsx';
import { go } from '../router.tsx';
import { pages } from './pages.tsx';

const maxShown = 20;
const runIdPattern = /^(?:wrun_[0-9A-Z]{26}|[\da-f]{8}-[\da-f-]{27})$/i;

interface Target {
  readonly kind: 'page' | 'workflow' | 'run' | 'help';
  readonly text: string;
  readonly open: () => void;
}

interface PaletteProps {
  readonly onHelp: () => void;
  readonly onClose: () => void;
}

export function Palette({ onHelp, onClose }: PaletteProps): ReactNode {
  const list = useId();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const targets = useTargets(text.trim(), onHelp);
  const chosen = Math.min(at, targets.length - 1);
  const open = (target: Target | undefined): void => {
    if (target === undefined) return;
    onClose();
    target.open();
  };
  const press = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (event.key === 'Enter') open(targets[chosen]);
    else if (step !== 0 && targets.length > 0) setAt((chosen + step + targets.length) % targets.length);
    else return;
    event.preventDefault();
  };
  return (
    <Modal name={{ text: 'Go to' }} className="targets" closesOutside onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-label="Page, workflow or id of a run"
        aria-expanded
        aria-controls={list}
        aria-activedescendant={targets.length === 0 ? undefined : `${list}-${chosen}`}
        aria-autocomplete="list"
        placeholder="Page, workflow or id of a run"
        spellCheck={false}
        autoComplete="off"
        value={text}
        onChange={({ currentTarget: { value } }) => {
          setText(value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <ul id={list} role="listbox" aria-label="Targets">
        {targets.map((target, index) => (
          <li
            key={`${target.kind} ${target.text}`}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onMouseMove={() => setAt(index)}
            onClick={() => open(target)}
          >
            <bdi>{target.text}</bdi> <span className="dim small">{target.kind}</span>
          </li>
        ))}
      </ul>
      <p role="status" className={targets.length === 0 ? 'dim' : 'hidden'}>
        {targets.length === 0
          ? 'Nothing has that name. Paste the whole id of a run to open it.'
          : `${targets.length} ${targets.length === 1 ? 'target' : 'targets'}`}
      </p>
    </Modal>
  );
}

/** The names of the first hundred workflows. If there are more, the server finds those that begin with the text. */
function useWorkflowNames(text: string): readonly string[] {
  const first = useQuery({
    queryKey: ['workflows', 'names'],
    queryFn: ({ signal }) => api.workflows({ limit: 100 }, signal),
    staleTime: 30_000,
  });
  const begun = useQuery({
    queryKey: ['workflows', 'names', text],
    queryFn: ({ signal }) => api.workflows({ limit: maxShown, prefix: text }, signal),
    enabled: typeof first.data?.cursor === 'string' && workflowNamePattern.test(text),
    staleTime: 30_000,
  });
  return [...new Set([...(begun.data?.data ?? []), ...(first.data?.data ?? [])].map(({ name }) => name))];
}

function useTargets(text: string, onHelp: () => void): readonly Target[] {
  const workflows = useWorkflowNames(text);
  const run: readonly Target[] = runIdPattern.test(text)
    ? [{ kind: 'run', text, open: () => go(`/runs/${encodeURIComponent(text)}`) }]
    : [];
  const all: readonly Target[] = [
    ...pages.flatMap(({ path, title }): readonly Target[] =>
      path.includes('*') ? [] : [{ kind: 'page', text: title, open: () => go(`/${path}`) }],
    ),
    ...workflows.map((name): Target => ({
      kind: 'workflow',
      text: name,
      open: () => go(`/workflows/${encodeURIComponent(name)}`),
    })),
    { kind: 'help', text: 'Keyboard shortcuts', open: onHelp },
  ];
  const wanted = text.toLowerCase();
  const places = all.map((target) => ({ target, place: target.text.toLowerCase().indexOf(wanted) }));
  const found = places.filter(({ place }) => place !== -1).toSorted((one, other) => one.place - other.place);
  return [...run, ...found.map(({ target }) => target)].slice(0, maxShown);
}
