import { css } from "lit";

export const connectionStyles = css`
  .connection {
    display: flex;
    align-items: center;
    gap: 8px;
    margin: 0;
    color: var(--faint);
    font-size: 0.85rem;
  }
  .indicator {
    width: 9px;
    height: 9px;
    border-radius: 50%;
    background: var(--wait);
  }
  .connection[data-shown="connected"] .indicator {
    background: var(--good);
  }
  .connection:is([data-shown="lost"], [data-shown="waiting"]) .indicator {
    background: var(--bad);
  }
`;
