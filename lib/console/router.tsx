/** Routes of the console below `<stage>/console`. The address has all state that a reader would want to share. */
import { type AnchorHTMLAttributes, type ReactNode, useSyncExternalStore } from 'react';

/** The path of the stage, with a slash at the end: the page's `<base>` leads there. */
const root = new URL(document.baseURI).pathname;
const prefix = `${root}console`;

const listeners = new Set<() => void>();
const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  addEventListener('popstate', listener);
  return () => {
    listeners.delete(listener);
    removeEventListener('popstate', listener);
  };
};

/** The page and its search, below the console. */
export const consolePath = (): string => `${location.pathname.slice(prefix.length)}${location.search}`;

const addressOf = (path: string): string => `${prefix}${path}`;

/** Asks whether the page may be left; it calls `leave` when it may. */
type Guard = (leave: () => void) => void;
let guard: Guard | undefined;

/** A page with unsaved work guards itself. The result ends that. */
export function guardLeaving(ask: Guard): () => void {
  guard = ask;
  const own = location.href;
  const back = (): void => {
    if (guard !== ask || location.href === own) return;
    const wanted = `${location.pathname}${location.search}`;
    history.pushState(null, '', own);
    ask(() => move(wanted, 'replace'));
  };
  addEventListener('popstate', back, { capture: true });
  return () => {
    removeEventListener('popstate', back, { capture: true });
    if (guard === ask) guard = undefined;
  };
}

export function go(path: string, how: 'push' | 'replace' = 'push'): void {
  const target = addressOf(path);
  // Another search of the same page does not leave it.
  if (guard === undefined || new URL(target, location.href).pathname === location.pathname) move(target, how);
  else guard(() => move(target, how));
}

function move(address: string, how: 'push' | 'replace'): void {
  guard = undefined;
  if (how === 'push') history.pushState(null, '', address);
  else history.replaceState(null, '', address);
  for (const listener of listeners) listener();
}

/** The segments of the path below the console, decoded. */
export function usePath(): readonly string[] {
  const path = useSyncExternalStore(subscribe, () => location.pathname);
  return path
    .slice(prefix.length)
    .split('/')
    .filter((each) => each !== '')
    .map(decoded);
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export function useSearch(): URLSearchParams {
  return new URLSearchParams(useSyncExternalStore(subscribe, () => location.search));
}

/** Replaces the given parameters; undefined removes one. */
export function setSearch(change: Readonly<Record<string, string | undefined>>): void {
  const search = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(change))
    if (value === undefined || value === '') search.delete(name);
    else search.set(name, value);
  const path = location.pathname.slice(prefix.length);
  go(`${path}${search.size === 0 ? '' : `?${search.toString()}`}`, 'replace');
}

interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  readonly to: string;
  /** after the link was followed in this page; a menu closes then */
  readonly onNavigate?: () => void;
  readonly children: ReactNode;
}

export const Link = ({ to, onNavigate, children, ...rest }: LinkProps): ReactNode => (
  <a
    {...rest}
    href={addressOf(to)}
    onClick={(event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
      event.preventDefault();
      go(to);
      onNavigate?.();
    }}
  >
    {children}
  </a>
);
