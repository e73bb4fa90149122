/** The links of the header that its bar has no room for. The browser closes the menu on Escape and on a click elsewhere. */
import { type ReactNode, useRef } from 'react';
import { Icon } from '../primitives/icon.tsx';
import { Link } from '../router.tsx';

interface AreasMenuProps {
  readonly areas: readonly { readonly path: string; readonly title: string }[];
  /** the first segment of the address */
  readonly current: string;
}

export function AreasMenu({ areas, current }: AreasMenuProps): ReactNode {
  const menu = useRef<HTMLDivElement>(null);
  const isHere = areas.some(({ path }) => path === current);
  return (
    <>
      <button type="button" className={isHere ? 'areas here' : 'areas'} popoverTarget="areas-menu">
        More <Icon name="down" />
      </button>
      <div ref={menu} id="areas-menu" className="menu" popover="auto">
        {areas.map(({ path, title }) => (
          <Link
            key={path}
            to={`/${path}`}
            onNavigate={() => menu.current?.hidePopover()}
            {...(path === current ? { 'aria-current': 'page' } : {})}
          >
            {title}
          </Link>
        ))}
      </div>
    </>
  );
}
