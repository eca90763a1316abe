import { css } from "lit";

export const welcomeStyles = css`
  .welcome {
    max-width: 34rem;
    margin: 8vh auto 0;
    text-align: center;
  }
  .welcome h2 {
    margin: 0 0 8px;
    font: 600 1.7rem/1.2 var(--serif);
  }
  .welcome p {
    margin: 0 0 20px;
    color: var(--faint);
  }
  .welcome ul {
    display: flex;
    flex-wrap: wrap;
    justify-content: center;
    gap: 8px;
    margin: 0;
    padding: 0;
    list-style: none;
  }
  .try {
    border-radius: 99px;
    font-weight: 500;
  }
`;
