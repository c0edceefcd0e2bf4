import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface PageViewProps {
  title: string;
  /** Beside the title. */
  actions?: ComponentChildren;
  /** One sentence on what the page is for. */
  about?: ComponentChildren;
  children: ComponentChildren;
}

/** The frame of a page: its title, which gets the focus when the page opens, so that readers of screens notice the change. */
export function PageView({ title, actions, about, children }: PageViewProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    // Whoever types into a field of the page goes on typing.
    if (document.activeElement === document.body || document.activeElement?.closest('nav')) {
      heading.current?.focus({ preventScroll: true });
    }
  }, []);
  useEffect(() => {
    document.title = `${title} · l9-memory`;
  }, [title]);
  return (
    <main class="page" id="content">
      <header class="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {about && <p class="about">{about}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </main>
  );
}
